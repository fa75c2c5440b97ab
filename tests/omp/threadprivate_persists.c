// threadprivate variables: the main thread's is the variable itself, others begin with its first
// value and keep theirs from region to region.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static int counter = 5;
static double values[10] = {1, 2, 3};
#pragma omp threadprivate(counter, values)

int main(void) {
  omp_set_dynamic(0);
  counter = 50;
  CHECK(values[1] == 2);
#pragma omp parallel num_threads(4)
  {
    int me = omp_get_thread_num();
    CHECK(counter == (me ? 5 : 50));
    CHECK(values[2] == 3);
    counter = 100 + me;
    values[0] = me;
  }
  CHECK(counter == 100);
  for (int round = 0; round < 20; ++round) {
#pragma omp parallel num_threads(4)
    {
      int me = omp_get_thread_num();
      CHECK(counter == 100 + me && values[0] == me);
    }
  }
  counter = 7;
#pragma omp parallel num_threads(4) copyin(counter)
  CHECK(counter == 7);
  return 0;
}
