// A timer's signal every 0.7 ms whose handler makes calls that may wait, while members share
// threads and take tasks: it may have interrupted the runtime, and no sibling goes on from there.
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

static volatile sig_atomic_t taken;
static void handler(int signal) {
  (void)signal;
  int saved = errno;
  const struct timespec moment = {0, 20000};
  switch (taken++ % 3) {
    case 0:
      nanosleep(&moment, NULL);
      break;
    case 1:
      if (write(-1, "", 1) == 0) _exit(2);
      break;
    default:
      if (fsync(-1) == 0) _exit(2);
  }
  errno = saved;
}

int main(void) {
  enum { kSize = 5, kRounds = 200, kIterations = 2000, kTasks = 20 };
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval timer = {{0, 700}, {0, 700}}, none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &timer, NULL);
  long members = 0, iterations = 0, tasks = 0;
  for (int round = 0; round < kRounds; ++round) {
#pragma omp parallel num_threads(kSize) reduction(+ : members, iterations)
    {
#pragma omp for schedule(dynamic, 7)
      for (int i = 0; i < kIterations; ++i) iterations += 1;
#pragma omp single
      for (int i = 0; i < kTasks; ++i) {
#pragma omp task
        {
          for (volatile int k = 0; k < 200; ++k) continue;
#pragma omp atomic
          tasks += 1;
        }
      }
      members += 1;
    }
  }
  setitimer(ITIMER_REAL, &none, NULL);
  EXPECT_EQ(members, kSize * kRounds);
  EXPECT_EQ(iterations, (long)kIterations * kRounds);
  EXPECT_EQ(tasks, (long)kTasks * kRounds);
  return verdict();
}
