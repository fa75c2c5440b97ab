// With OMP_MAX_TASK_PRIORITY, a member executes the tasks it has queued by priority. Outside of
// regions, where no barrier comes, a task is executed at once, also one with a priority.
// env: OMP_MAX_TASK_PRIORITY=10
// reference: gcc
// reason: libomp takes no account of priorities.
#include <omp.h>
#include <stdio.h>

static int tasks_outside(void) {
  int executed = 0;
  for (int i = 1; i <= 3; ++i) {
#pragma omp task priority(3 * i) shared(executed)
    ++executed;
    if (executed != i) {
      printf("%d of %d tasks outside of regions were executed\n", executed, i);
      return 0;
    }
  }
  return 1;
}

int main(void) {
  if (!tasks_outside()) return 1;
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
  return !tasks_outside();
}
