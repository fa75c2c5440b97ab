// Actions of signals that several threads set at once.
#include "exchange_actions.h"

CASE(each_action_comes_back_once) {
  exchange_actions_of(SIGUSR2);
  exchange_actions_of(SIGSEGV);
}
