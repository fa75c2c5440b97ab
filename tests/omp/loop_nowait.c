/* Threads may run through many loops without waiting for each other, whatever the schedule; and
   combined parallel loops. */
#include "worksharing.h"

#define ROUNDS 30

static void busy(int much) {
  for (volatile int i = 0; i < much; ++i)
    ;
}

static void chain(struct log* log) {
  int me = omp_get_thread_num();
  for (int r = 0; r < ROUNDS; ++r) {
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 40; ++i) hit(log, i);
    if (me == r % 5) busy(10000);
#pragma omp for schedule(guided, 2) nowait
    for (long i = 100; i > 60; --i) hit(log, 100 - i);
#pragma omp for schedule(static, 3) nowait
    for (int i = 0; i < 40; ++i) hit(log, i);
#pragma omp for schedule(runtime) nowait
    for (unsigned long long i = 0; i < 40; ++i) hit(log, (long)i);
#pragma omp single nowait
    for (int i = 0; i < 40; ++i) hit(log, i);
#pragma omp sections nowait
    {
#pragma omp section
      for (int i = 0; i < 20; ++i) hit(log, i);
#pragma omp section
      for (int i = 20; i < 40; ++i) hit(log, i);
    }
#pragma omp for schedule(dynamic, 50) nowait
    for (int i = 0; i < 40; ++i) hit(log, i);
      /* Nobody has an iteration. */
#pragma omp for schedule(dynamic, 50) nowait
    for (int i = 0; i < me * 0; ++i) hit(log, i);
  }
  check(log, "a chain of nowait constructs", 40, 7 * ROUNDS);
}

static void check_alone(const int* hits, int n, int times, const char* what) {
  for (int i = 0; i < n; ++i)
    if (hits[i] != times) {
      fail(what, i);
      return;
    }
}

static void combined(int threads) {
  int hits[100] = {0};
  for (int r = 0; r < 20; ++r) {
#pragma omp parallel for schedule(dynamic, 3) num_threads(threads)
    for (int i = 0; i < 100; ++i) {
#pragma omp atomic
      hits[i]++;
    }
#pragma omp parallel for schedule(guided) num_threads(threads)
    for (int i = 0; i < 100; ++i) {
#pragma omp atomic
      hits[i]++;
    }
#pragma omp parallel for schedule(runtime) num_threads(threads)
    for (int i = 99; i >= 0; --i) {
#pragma omp atomic
      hits[i]++;
    }
#pragma omp parallel for schedule(nonmonotonic : dynamic) num_threads(threads)
    for (int i = 0; i < 100; ++i) {
#pragma omp atomic
      hits[i]++;
    }
#pragma omp parallel for schedule(monotonic : dynamic, 7) num_threads(threads)
    for (int i = 0; i < 100; ++i) {
#pragma omp atomic
      hits[i]++;
    }
#pragma omp parallel for schedule(static, 7) num_threads(threads)
    for (int i = 0; i < 100; ++i) {
#pragma omp atomic
      hits[i]++;
    }
  }
  check_alone(hits, 100, 120, "a combined parallel loop");
}

int main() {
  everywhere(chain);
  omp_set_max_active_levels(8);
  for (int threads = 1; threads < 70; threads = threads * 3) {
    combined(threads);
#pragma omp parallel num_threads(3)
    combined(threads % 8 + 1);
  }
  return failures != 0;
}
