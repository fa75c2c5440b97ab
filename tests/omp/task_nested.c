// Tasks open regions, whose members create tasks; variables of tasks are inherited and kept apart.
#include <omp.h>
#include <stdio.h>

static int work(int depth) {
  int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
  {
    int own = 0;
#pragma omp task shared(own)
    {
      if (depth) {
        own = work(depth - 1);
      } else {
        own = 1;
      }
    }
#pragma omp taskwait
    sum += own;
  }
  return sum;
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  omp_set_max_active_levels(10);
  for (int s = 0; s < 4; ++s) {
    int sum = 0, wrong = 0;
#pragma omp parallel num_threads(sizes[s])
#pragma omp single
    for (int i = 0; i < 10; ++i) {
#pragma omp task shared(sum, wrong) firstprivate(i)
      {
        omp_set_num_threads(i + 2);
#pragma omp task shared(wrong) firstprivate(i)
        if (omp_get_max_threads() != i + 2) wrong = 1;
        int result = work(2);
#pragma omp atomic
        sum += result;
        if (omp_get_max_threads() != i + 2) wrong = 2;
      }
    }
    if (wrong || sum != 270) {
      printf("regions in tasks give %d (%d) with %d threads\n", sum, wrong, sizes[s]);
      return 1;
    }
  }
  return 0;
}
