/* Each section is executed once. */
#include "worksharing.h"

static void body(struct log* log) {
  for (int r = 0; r < 20; ++r) {
#pragma omp sections
    {
#pragma omp section
      hit(log, 0);
#pragma omp section
      hit(log, 1);
#pragma omp section
      hit(log, 2);
#pragma omp section
      hit(log, 3);
#pragma omp section
      hit(log, 4);
    }
    check(log, "sections", 5, 1);
  }
}

static void last_one(int threads) {
  int last = 0;
#pragma omp parallel sections lastprivate(last) num_threads(threads)
  {
#pragma omp section
    last = 1;
#pragma omp section
    last = 2;
#pragma omp section
    last = 3;
  }
  if (last != 3) fail("lastprivate of sections", last);
}

static void combined(int threads) {
  last_one(threads);
  int hits[3] = {0};
#pragma omp parallel sections num_threads(threads)
  {
#pragma omp section
    {
#pragma omp atomic
      hits[0]++;
    }
#pragma omp section
    {
#pragma omp atomic
      hits[1]++;
    }
#pragma omp section
    {
#pragma omp atomic
      hits[2]++;
    }
  }
  if (hits[0] != 1 || hits[1] != 1 || hits[2] != 1) fail("parallel sections", threads);
}

int main() {
  everywhere(body);
  for (int threads = 1; threads < 70; threads *= 2) combined(threads);
#pragma omp parallel num_threads(4)
  combined(3);
  return failures != 0;
}
