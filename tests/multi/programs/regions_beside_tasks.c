// A region of three: one member creates tasks that compute, and executes them at the barrier; one
// yields until all are done. Prints how many of them began between two of its yields, at most.
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { kTasks = 400, kMembers = 3 };

static int begun, done;

// About 1 ms.
static void compute(void) {
  __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
  volatile double x = 1;
  for (int i = 0; i < 500000; ++i) x = x * 1.0000001;
  __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

int main(void) {
  int most = 0;
#pragma omp parallel num_threads(kMembers)
  {
    int member = omp_get_thread_num();
#pragma omp barrier
    if (member == 0) {
      for (int i = 0; i < kTasks; ++i) {
#pragma omp task
        compute();
      }
    }
    if (member == kMembers - 1) {
      int before = 0;
      while (__atomic_load_n(&done, __ATOMIC_RELAXED) < kTasks) {
        sched_yield();
        int now = __atomic_load_n(&begun, __ATOMIC_RELAXED);
        if (now - before > most) most = now - before;
        before = now;
      }
    }
  }
  printf("%d\n", most);
  return 0;
}
