// Inner regions that are asked for in a thread of the program's own keep their members where one
// computes for long and the others wait for it: that is no wait in the kernel.
// threads: 2
// reference: no
// reason: libomp's inner regions have one member there
#include <pthread.h>

#include "expect.h"
#include "os_threads.h"

static void* open_regions(void* nothing) {
  for (int round = 0; round < 20; ++round) {
    int outer = 0;
    int inner = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
      outer += 1;
#pragma omp parallel num_threads(3)
      {
        if (round % 5 == 4 && omp_get_thread_num() == 1) compute_for(0.06);
#pragma omp barrier
#pragma omp atomic
        inner += 1;
      }
    }
    EXPECT_EQ(outer, 4);
    EXPECT_EQ(inner, 12);
  }
  return nothing;
}

int main(void) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, open_regions, NULL), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  return verdict();
}
