/* Reductions that the tasks of a worksharing construct take part in. */
#include "worksharing.h"

static void with(int threads) {
  for (int r = 0; r < 15; ++r) {
    long loop = 1, dynamic = 2, sections = 3, region = 4;
#pragma omp parallel num_threads(threads) reduction(task, + : region)
    {
#pragma omp for reduction(task, + : loop)
      for (int i = 0; i < 40; ++i) {
#pragma omp task in_reduction(+ : loop)
        loop += i;
        loop += 1;
      }
#pragma omp for schedule(dynamic, 3) reduction(task, + : dynamic)
      for (long i = 0; i < 40; ++i) {
#pragma omp task in_reduction(+ : dynamic)
        dynamic += i;
      }
#pragma omp sections reduction(task, + : sections)
      {
#pragma omp section
        {
#pragma omp task in_reduction(+ : sections)
          sections += 10;
        }
#pragma omp section
        {
#pragma omp task in_reduction(+ : sections)
          sections += 20;
          sections += 1;
        }
      }
#pragma omp task in_reduction(+ : region)
      region += 5;
    }
    if (loop != 1 + 780 + 40) fail("tasks of a loop", loop);
    if (dynamic != 2 + 780) fail("tasks of a dynamic loop", dynamic);
    if (sections != 3 + 31) fail("tasks of sections", sections);
    if (region != 4 + 5L * threads) fail("tasks of a region", region);
  }
}

int main() {
  omp_set_dynamic(0);
  with(1);
  with(2);
  with(7);
  with(30);
  return failures != 0;
}
