// With OMP_MAX_TASK_PRIORITY, a member executes the tasks it has queued by priority.
// env: OMP_MAX_TASK_PRIORITY=10
// reference: gcc
// reason: libomp takes no account of priorities.
#include <omp.h>
#include <stdio.h>

int main(void) {
  int order[40], next = 0, over = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      for (int i = 0; i < 40; ++i) {
#pragma omp task priority(i % 4) shared(order, next) firstprivate(i)
        {
          int at;
#pragma omp atomic capture
          at = next++;
          order[at] = i % 4;
        }
      }
#pragma omp taskwait
#pragma omp atomic write
      over = 1;
    } else {
      // The other one does not help with tasks that are not its own: it is at no barrier.
      for (int seen = 0; !seen;) {
#pragma omp taskyield
#pragma omp atomic read
        seen = over;
      }
    }
  }
  for (int i = 0; i < 40; ++i) {
    if (next != 40 || order[i] != 3 - i / 10) {
      printf("task %d in the order of their execution has the wrong priority\n", i);
      return 1;
    }
  }
  return 0;
}
