// A library that has a say in handlers is asked, wherever it stands.
#include <signal.h>
#include <stdlib.h>

#include "expect.h"

int calls_of_sigaction(void);

static volatile int handled;
static void note(int number) {
  (void)number;
  ++handled;
}

CASE(a_library_with_a_sigaction_of_its_own_is_asked) {
  const int flags[] = {0, SA_RESTART, (int)SA_RESETHAND, SA_NODEFER};
  for (int i = 0; i < 4; ++i) {
    struct sigaction action = {.sa_handler = note, .sa_flags = flags[i]};
    EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    EXPECT_EQ(calls_of_sigaction(), i + 1);
    EXPECT_EQ(raise(SIGUSR1), 0);
    EXPECT_EQ(handled, i + 1);
  }
}
