// Signal handlers that interrupt dlopen and dlclose, and make calls that may wait: the linker's
// lists may be half changed then, and its lock is their own thread's.
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"
#include "library.h"

// glibc 2.34 and newer: fork, for handlers.
#pragma weak _Fork
pid_t _Fork(void);

enum call { SLEEP, POLL, YIELD, FORK, CALLS };
static volatile enum call call;
static volatile int handled;

static void rest(void) { nanosleep(&(struct timespec){0, 1000}, NULL); }

static void make_call(int signal) {
  int saved = errno;
  (void)signal;
  ++handled;
  if (call == SLEEP) rest();
  if (call == POLL) poll(NULL, 0, 1);
  if (call == YIELD) sched_yield();
  if (call == FORK) {
    pid_t child = _Fork();
    if (child == 0) {
      rest();
      waitpid(-1, NULL, 0);
      _exit(0);
    }
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT_EQ(status, 0);
  }
  errno = saved;
}

static void load_and_unload_until(int times) {
  handled = 0;
  while (handled < times) {
    EXPECT_EQ(dlclose(open_library("crews")), 0);
  }
}

CASE(they_may_make_calls_that_wait) {
  struct sigaction action = {.sa_handler = make_call, .sa_flags = SA_RESTART};
  EXPECT_EQ(sigaction(SIGALRM, &action, NULL), 0);
  for (enum call c = 0; c < CALLS; ++c) {
    if (c == FORK && !_Fork) continue;
    call = c;
    struct itimerval every = {{0, 1500}, {0, 1500}}, never = {{0, 0}, {0, 0}};
    EXPECT_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
    load_and_unload_until(200);
    EXPECT_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
  }
}
