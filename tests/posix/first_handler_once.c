// A signal that is pending while the process sets its first handler, for one time, is not lost.
#include <signal.h>
#include <stddef.h>

#include "expect.h"

static volatile int handled;
static void note(int number) {
  (void)number;
  ++handled;
}

// `number` is ignored until then.
static void comes_after_the_handler_is_set(int number) {
  struct sigaction once = {.sa_handler = note, .sa_flags = SA_RESETHAND};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  EXPECT_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
  EXPECT_EQ(raise(number), 0);
  handled = 0;
  EXPECT_EQ(sigaction(number, &once, NULL), 0);
  EXPECT_EQ(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
  EXPECT_EQ(handled, 1);
}

CASE(a_pending_signal_that_is_ignored_by_default_comes) { comes_after_the_handler_is_set(SIGCHLD); }

CASE(a_pending_signal_that_is_ignored_comes) {
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  EXPECT_EQ(sigaction(SIGUSR1, &ignore, NULL), 0);
  comes_after_the_handler_is_set(SIGUSR1);
}
