// A program with functions of libc's names that call libc's others: those do not call back.
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static int calls;

// As portable programs make it where there is none.
int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  if (++calls > 100) abort();
  sighandler_t old = action ? signal(number, action->sa_handler) : signal(number, SIG_DFL);
  if (action) siginterrupt(number, !(action->sa_flags & SA_RESTART));
  if (before) {
    memset(before, 0, sizeof *before);
    before->sa_handler = old;
  }
  return old == SIG_ERR ? -1 : 0;
}
int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  ++calls;
  return pthread_sigmask(how, set, before);
}
int sched_yield(void) {
  ++calls;
  return 0;
}
ssize_t read(int descriptor, void* to, size_t bytes) {
  (void)descriptor;
  ++calls;
  memset(to, 'x', bytes);
  return (ssize_t)bytes;
}

static volatile int handled;
static void note(int number) {
  (void)number;
  ++handled;
}

CASE(the_older_calls_set_handlers_without_it) {
  calls = 0;
  EXPECT(signal(SIGUSR1, note) == SIG_DFL);
  EXPECT_EQ(siginterrupt(SIGUSR1, 1), 0);
  EXPECT(sigset(SIGUSR2, SIG_HOLD) == SIG_DFL);
  EXPECT(sigset(SIGUSR2, note) == SIG_HOLD);
  EXPECT_EQ(sigignore(SIGUSR2), 0);
  EXPECT_EQ(calls, 0);
}

CASE(it_may_be_made_of_them) {
  struct sigaction action = {.sa_handler = note};
  calls = 0;
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(calls, 1);
}

ssize_t __read_chk(int, void*, size_t, size_t);
CASE(checked_calls_do_not_use_the_programs) {
  char text[4] = "";
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], "abc", 4), 4);
  calls = 0;
  EXPECT_EQ(__read_chk(ends[0], text, 4, sizeof text), 4);
  EXPECT(strcmp(text, "abc") == 0);
  EXPECT_EQ(calls, 0);
}
