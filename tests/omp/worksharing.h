/* What the worksharing tests share: a log in which each iteration counts itself, and the places
   they are run from: outside any region, and regions of 1, 2, 7 and 64 threads, alone and nested.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRAGMA(x) _Pragma(#x)
#define MOST 4096

struct log {
  int hits[MOST];
  int wrong_thread;
  int order; /* the next iteration of an ordered loop */
  int disorder;
  long sum;
  long* grid;
};

static int failures = 0;

static void fail(const char* what, long detail) {
  int before;
#pragma omp atomic capture
  before = failures++;
  if (before == 0)
    printf("%s (%ld) with %d threads at level %d\n", what, detail, omp_get_num_threads(),
           omp_get_level());
}

static void hit(struct log* log, long iteration) {
  if (iteration < 0 || iteration >= MOST) {
    fail("an iteration outside the loop", iteration);
    return;
  }
#pragma omp atomic
  log->hits[iteration]++;
  int thread = omp_get_thread_num();
  if (thread < 0 || thread >= omp_get_num_threads()) {
#pragma omp atomic
    log->wrong_thread++;
  }
}

/* By all members: that iterations 0 to n - 1 were executed `times` times each, and no other. */
static void check(struct log* log, const char* what, long n, int times) {
#pragma omp barrier
#pragma omp single
  {
    for (long i = 0; i < MOST; ++i)
      if (log->hits[i] != (i < n ? times : 0)) {
        fail(what, i);
        break;
      }
    if (log->wrong_thread) fail("an illegal thread number", log->wrong_thread);
    memset(log, 0, sizeof *log - sizeof log->grid);
  }
}

/* Everywhere: body(log) by all members of teams of many sizes. */
static void everywhere(void (*body)(struct log*)) {
  static const int sizes[] = {1, 2, 7, 64};
  omp_set_dynamic(0);
  omp_set_max_active_levels(8);
  struct log* log = calloc(1, sizeof *log);
  body(log);
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
#pragma omp parallel num_threads(sizes[s])
    body(log);
  }
  for (int round = 0; round < 2; ++round) {
#pragma omp parallel num_threads(3)
    {
      struct log* own = calloc(1, sizeof *own);
      for (unsigned s = 0; s < 3; ++s) {
#pragma omp parallel num_threads(sizes[s] < 7 ? sizes[s] : 5)
        body(own);
      }
      free(own);
    }
  }
  free(log);
}
