// A detachable task that is discarded, as its taskgroup or region was cancelled before it began, or
// was created, is complete: its body may have been what fulfills its event. Who fulfills that later
// does no harm.
// env: OMP_CANCELLATION=true
// reference: no
// reason: libomp 14 to 19 hang in it, and to fulfill the event later is not defined for libgomp
#include <stdlib.h>

#include "expect.h"

static void in_a_group(void) {
  omp_event_handle_t event;
  int before = 0, ran = 0;
#pragma omp taskgroup
  {
#pragma omp task depend(out : before)
    {
#pragma omp cancel taskgroup
    }
#pragma omp task detach(event) depend(in : before) shared(ran)
    {
      ran = 1;
      omp_fulfill_event(event);
    }
  }
  EXPECT_EQ(ran, 0);
  omp_fulfill_event(event);
  (void)before;
}

static void in_a_cancelled_group(void) {
  omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp taskgroup
  {
#pragma omp task if (0)
    {
#pragma omp cancel taskgroup
    }
#pragma omp task detach(event)
    omp_fulfill_event(event);
  }
  omp_fulfill_event(event);
}

static int cancelled_region(int threads) {
  int began = 0;
#pragma omp parallel num_threads(threads)
  {
    omp_event_handle_t event;
    add(&began, 1);
    if (omp_get_thread_num() == 0) {
      for (int i = 0; i < 3; ++i) {
#pragma omp task detach(event)
        omp_fulfill_event(event);
      }
    }
#pragma omp cancel parallel
  }
  return began;
}

int main(void) {
  for (int round = 0; round < 50; ++round) {
#pragma omp parallel num_threads(3)
#pragma omp single
    {
      in_a_group();
      in_a_cancelled_group();
    }
    EXPECT(cancelled_region(3) >= 1);
  }
  return verdict();
}
