// A timer's signal every half millisecond, taken by whichever thread, with SA_RESTART and on the
// stack the thread is on, disturbs neither barriers nor nested regions nor critical sections.
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "expect.h"

static volatile sig_atomic_t taken;
static void handler(int signal) {
  volatile char stack[4096];
  int saved = errno;
  for (int i = 0; i < 4096; i += 256) stack[i] = (char)signal;
  taken++;
  errno = saved;
}

int main(void) {
  allow_nesting();
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval timer = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &timer, NULL);
  long sum = 0;
  for (int round = 0; round < 60; ++round) {
    int size = round % 6 + 1, arrived = 0;
#pragma omp parallel num_threads(size)
    {
      for (int i = 1; i <= 20; ++i) {
        add(&arrived, 1);
#pragma omp barrier
        EXPECT_EQ(look(&arrived), i * size);
#pragma omp barrier
      }
#pragma omp parallel num_threads(3)
#pragma omp critical
      sum += 1;
    }
  }
  EXPECT_EQ(sum, 10 * 3 * (1 + 2 + 3 + 4 + 5 + 6));
  while (taken < 20) {
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
    }
  }
  return verdict();
}
