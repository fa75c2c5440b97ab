// signal, sigset, sigignore and siginterrupt, and what sigaction tells of what they have set.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>

#include "expect.h"

// They are deprecated, or differ by _XOPEN_SOURCE.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
sighandler_t bsd_signal(int, sighandler_t);

static volatile int handled;
static void note(int number) {
  (void)number;
  ++handled;
}
static void note_too(int number) { note(number); }

static struct sigaction action_of(int number) {
  struct sigaction action;
  EXPECT_EQ(sigaction(number, NULL, &action), 0);
  return action;
}
static int flags_of(int number) {
  return action_of(number).sa_flags & (SA_RESTART | SA_NODEFER | (int)SA_RESETHAND);
}
static int masks(int number, int other) {
  struct sigaction action = action_of(number);
  return sigismember(&action.sa_mask, other);
}
static int is_blocked(int number) {
  sigset_t set;
  EXPECT_EQ(sigprocmask(SIG_BLOCK, NULL, &set), 0);
  return sigismember(&set, number);
}

CASE(signal_sets_a_handler_that_restarts_and_blocks_itself) {
  EXPECT(signal(SIGUSR1, note) == SIG_DFL);
  EXPECT_EQ(flags_of(SIGUSR1), SA_RESTART);
  EXPECT_EQ(masks(SIGUSR1, SIGUSR1), 1);
  EXPECT_EQ(masks(SIGUSR1, SIGUSR2), 0);
  EXPECT(bsd_signal(SIGUSR1, note_too) == note);
  EXPECT(ssignal(SIGUSR1, SIG_IGN) == note_too);
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}

CASE(signal_forgets_the_mask_that_sigaction_has_set) {
  struct sigaction action = {.sa_handler = note};
  sigfillset(&action.sa_mask);
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  EXPECT_EQ(masks(SIGUSR1, SIGSYS), 1);
  EXPECT(signal(SIGUSR1, note) == note);
  EXPECT_EQ(masks(SIGUSR1, SIGSYS), 0);
  EXPECT_EQ(masks(SIGUSR1, SIGUSR2), 0);
}

CASE(siginterrupt_lasts) {
  EXPECT(signal(SIGUSR1, note) != SIG_ERR);
  EXPECT_EQ(siginterrupt(SIGUSR1, 1), 0);
  EXPECT_EQ(flags_of(SIGUSR1), 0);
  EXPECT(signal(SIGUSR1, note) == note);
  EXPECT_EQ(flags_of(SIGUSR1), 0);
  EXPECT_EQ(siginterrupt(SIGUSR1, 0), 0);
  EXPECT_EQ(flags_of(SIGUSR1), SA_RESTART);
  EXPECT(signal(SIGUSR1, note) == note);
  EXPECT_EQ(flags_of(SIGUSR1), SA_RESTART);
}

static void hold_and_release(int number) {
  handled = 0;
  EXPECT(signal(number, SIG_DFL) != SIG_ERR);
  EXPECT(sigset(number, note) == SIG_DFL);
  EXPECT_EQ(flags_of(number), 0);
  EXPECT_EQ(masks(number, number), 0);
  EXPECT(sigset(number, SIG_HOLD) == note);
  EXPECT_EQ(is_blocked(number), 1);
  EXPECT(sigset(number, SIG_HOLD) == SIG_HOLD);
  EXPECT_EQ(raise(number), 0);
  EXPECT_EQ(handled, 0);
  EXPECT(sigset(number, note_too) == SIG_HOLD);
  EXPECT_EQ(is_blocked(number), 0);
  EXPECT_EQ(handled, 1);
  EXPECT(sigset(number, SIG_DFL) == note_too);
}
CASE(sigset_holds_and_releases) { hold_and_release(SIGUSR1); }
CASE(sigset_holds_and_releases_sigsys) { hold_and_release(SIGSYS); }

CASE(sigignore_ignores) {
  EXPECT_EQ(sigignore(SIGUSR1), 0);
  EXPECT(action_of(SIGUSR1).sa_handler == SIG_IGN);
  EXPECT_EQ(sigignore(SIGSYS), 0);
  EXPECT(action_of(SIGSYS).sa_handler == SIG_IGN);
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(raise(SIGSYS), 0);
  EXPECT(signal(SIGSYS, SIG_DFL) == SIG_IGN);
}

CASE(what_is_no_signal_is_refused) {
  const int wrong[] = {-1, 0, 32, 33, 65, SIGKILL, SIGSTOP};
  for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    errno = 0;
    EXPECT(signal(wrong[i], note) == SIG_ERR);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT(sigset(wrong[i], note) == SIG_ERR);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(sigignore(wrong[i]), -1);
    EXPECT_EQ(errno, EINVAL);
  }
  errno = 0;
  EXPECT(signal(SIGUSR1, SIG_ERR) == SIG_ERR);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(siginterrupt(65, 1), -1);
  EXPECT_EQ(errno, EINVAL);
}
