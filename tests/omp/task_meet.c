// Two tasks of one member wait for each other: another member does one of them, even if it comes to
// the region when the first has all but done with it.
// threads: 2 7
#include <sched.h>

#include "expect.h"

// From time to time long enough for idle threads to go to sleep.
static void pause_between(int round) {
  if (round % 4 == 0) usleep(round % 3 * 300);
}

static void meet(int* here) {
  add(here, 1);
  while (look(here) < 2) sched_yield();
}

int main(void) {
  for (int round = 0; round < 300; ++round) {
    int here = 0, members = 0;
    pause_between(round);
#pragma omp parallel
    {
      if (omp_get_thread_num() == 0) members = omp_get_num_threads();
#pragma omp single nowait
      for (int i = 0; i < 2; ++i) {
#pragma omp task shared(here)
        meet(&here);
      }
    }
    EXPECT_EQ(here, 2);
    EXPECT(members >= 2);
  }
  return verdict();
}
