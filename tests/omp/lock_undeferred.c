// Undeferred tasks and taskloops of clang's programs have the nestable locks that their member has.
// compilers: clang
// reason: libomp gives them to the thread; in gcc's programs they are a task's (lock_owner.c)
// limit: 20
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  omp_nest_lock_t lock;
  omp_init_nest_lock(&lock);
  const int sizes[] = {1, 4};
  for (int i = 0; i < 2; ++i) {
    int in_task = 0, in_loop = 0, sum = 0;
#pragma omp parallel num_threads(sizes[i])
#pragma omp single
    {
      omp_set_nest_lock(&lock);
#pragma omp task if (0) shared(in_task)
      in_task = omp_test_nest_lock(&lock);
      if (in_task) omp_unset_nest_lock(&lock);
#pragma omp taskloop if (0) shared(in_loop)
      for (int k = 0; k < 4; ++k) {
        int depth = omp_test_nest_lock(&lock);
        in_loop += depth;
        if (depth) omp_unset_nest_lock(&lock);
      }
      CHECK(in_task == 2);
      CHECK(in_loop == 4 * 2);
#pragma omp taskloop if (0) grainsize(1) shared(sum)
      for (int k = 1; k <= 4; ++k) {
        omp_set_nest_lock(&lock);
        sum += k;
        omp_unset_nest_lock(&lock);
      }
      omp_unset_nest_lock(&lock);
    }
    CHECK(sum == 10);
  }
  CHECK(omp_test_nest_lock(&lock) == 1);
  omp_unset_nest_lock(&lock);
  omp_destroy_nest_lock(&lock);
  return 0;
}
