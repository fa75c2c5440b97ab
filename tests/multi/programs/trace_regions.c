// Three regions of four members, each of whom opens one of two; a loop, sections, a lock, a
// taskloop, and 20 tasks.
#include <omp.h>
#include <stdlib.h>

enum { kMembers = 4, kInner = 2, kTasks = 20 };

int main(void) {
  int sum = 0;
  omp_set_max_active_levels(2);
  for (int region = 0; region < 3; ++region) {
#pragma omp parallel num_threads(kMembers) reduction(+ : sum)
    {
#pragma omp for schedule(dynamic, 8)
      for (int i = 0; i < 64; ++i) sum += i;
#pragma omp sections
      {
#pragma omp section
        sum += 1;
#pragma omp section
        sum += 1;
      }
#pragma omp critical
      sum += 1;
#pragma omp parallel num_threads(kInner) reduction(+ : sum)
      sum += 1;
    }
  }
  int tasks = 0;
#pragma omp parallel num_threads(kMembers)
#pragma omp single
  for (int i = 0; i < kTasks; ++i) {
#pragma omp task shared(tasks)
#pragma omp atomic
    tasks += 1;
  }
  int looped = 0;
#pragma omp parallel num_threads(kMembers)
#pragma omp single
#pragma omp taskloop num_tasks(4) shared(looped)
  for (int i = 0; i < 8; ++i) {
#pragma omp atomic
    looped += 1;
  }
  int wanted = 3 * (63 * 64 / 2 + 2 + kMembers + kMembers * kInner);
  return sum == wanted && tasks == kTasks && looped == 8 ? 0 : 1;
}
