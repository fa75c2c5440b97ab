// A handler that waits, in a program with one thread beside others that compute: nothing asks the
// program's malloc for memory meanwhile, which the handler may have interrupted.
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "child.h"
#include "expect.h"

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);

static volatile sig_atomic_t in_handler, allocated;

void* malloc(size_t bytes) {
  if (in_handler) allocated = 1;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  if (in_handler) allocated = 1;
  return __libc_calloc(count, bytes);
}

static void wait_a_moment(int signal) {
  (void)signal;
  in_handler = 1;
  nanosleep(&(struct timespec){0, 200000}, NULL);
  in_handler = 0;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}
static void compute_for(double length) {
  for (double end = seconds() + length; seconds() < end;) {
  }
}

static void compute_and_be_interrupted(void) {
  struct sigaction action = {.sa_handler = wait_a_moment};
  EXPECT_EQ(sigaction(SIGALRM, &action, NULL), 0);
  struct itimerval often = {{0, 3000}, {0, 3000}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
  compute_for(0.5);
  _exit(allocated);
}
static void compute(void) { compute_for(0.6); }

CASE(no_memory_is_asked_for_while_a_handler_waits) {
  pid_t interrupted = fork_child(compute_and_be_interrupted);
  nanosleep(&(struct timespec){0, 50000000}, NULL);  // it has its core, and nobody else wants it
  pid_t others[4];
  for (int i = 0; i < 4; ++i) others[i] = fork_child(compute);
  EXPECT_EQ(outcome_of(interrupted), 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(outcome_of(others[i]), 0);
}
