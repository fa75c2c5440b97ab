// threads: 1
// sanitized: no
// reason: a fork in a handler that has interrupted the sanitizers' own locks does not return
//
// A handler that forks in the midst of a fork, in a program that has used OpenMP and has one
// thread: with several, libc itself waits for itself.
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { kForks = 500, kPeriod = 700 };  // the latter in us

static volatile int handled;

static void fork_and_wait(void) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  EXPECT(child > 0);
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_EQ(status, 0);
}

static void fork_in_handler(int signal) {
  (void)signal;
  int error = errno;
  fork_and_wait();
  errno = error;
  ++handled;
}

int main(void) {
  int members = 0;
#pragma omp parallel reduction(+ : members)
  ++members;
  EXPECT_EQ(members, 1);
  struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
  EXPECT_EQ(sigaction(SIGALRM, &action, NULL), 0);
  struct itimerval timer = {{0, kPeriod}, {0, kPeriod}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
  for (int i = 0; i < kForks; ++i) fork_and_wait();
  timer = (struct itimerval){{0, 0}, {0, 0}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
  EXPECT(handled > 0);
#pragma omp parallel reduction(+ : members)
  ++members;
  EXPECT_EQ(members, 2);
  return 0;
}
