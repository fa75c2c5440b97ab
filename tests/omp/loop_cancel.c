/* Cancelled loops, sections and regions, over and over: the others get no more iterations for long,
   and constructs afterwards are whole. */
// env: OMP_CANCELLATION=true
// reference: gcc
// reason: libomp (14) hangs after some cancelled dynamic loops, which clang leaves without a call
#include <unistd.h>

#include "worksharing.h"

static long executed;

static void whole(struct log* log, const char* what) {
#pragma omp for schedule(dynamic, 2)
  for (int i = 0; i < 60; ++i) hit(log, i);
  check(log, what, 60, 1);
}

static void loops(struct log* log) {
  for (int r = 0; r < 20; ++r) {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 100000; ++i) {
      if (i == 50 + r) {
#pragma omp cancel for
      }
      if (i > 10000) {
#pragma omp atomic
        executed++;
      }
#pragma omp cancellation point for
    }
    whole(log, "a loop after a cancelled dynamic one");
#pragma omp for schedule(static)
    for (int i = 0; i < 1000; ++i) {
#pragma omp cancel for if (i % 100 == 7)
#pragma omp cancellation point for
    }
    whole(log, "a loop after a cancelled static one");
#pragma omp for schedule(guided)
    for (int i = 0; i < 1000; ++i) {
#pragma omp cancel for if (i % 100 == 7)
#pragma omp cancellation point for
    }
    whole(log, "a loop after a cancelled guided one");
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp cancel sections
        fail("a section that was cancelled goes on", r);
      }
#pragma omp section
      {
#pragma omp cancellation point sections
      }
    }
    whole(log, "a loop after cancelled sections");
  }
}

static void regions(int threads) {
  struct log* log = calloc(1, sizeof *log);
  for (int r = 0; r < 20; ++r) {
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < 10; ++i) hit(log, i);
      for (int k = 0; k < 20; ++k) {
#pragma omp for schedule(dynamic, 2) nowait
        for (int i = 0; i < 10; ++i) hit(log, i);
        if (omp_get_thread_num() == r % threads && k == 3) {
#pragma omp cancel parallel
          fail("a cancelled region goes on", r);
        }
      }
#pragma omp barrier
      fail("a barrier of a cancelled region is passed", r);
    }
    memset(log, 0, sizeof *log);
#pragma omp parallel num_threads(threads)
    {
      whole(log, "a loop in the region after a cancelled one");
      long sum = 0;
#pragma omp for schedule(guided) nowait
      for (int i = 0; i < 100; ++i) sum += i;
      whole(log, "another loop in the region after a cancelled one");
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int i = 0; i < 1000; ++i) {
#pragma omp cancel for if (i == 20)
    }
  }
  free(log);
}

int main(int argc, char** argv) {
  if (!omp_get_cancellation()) {
    if (argc > 1) return 0; /* this runtime has none */
    setenv("OMP_CANCELLATION", "true", 1);
    char* again[] = {argv[0], "again", NULL};
    execv("/proc/self/exe", again);
    return 1;
  }
  static const int sizes[] = {2, 7, 40};
  for (unsigned s = 0; s < 3; ++s) {
    struct log* log = calloc(1, sizeof *log);
#pragma omp parallel num_threads(sizes[s])
    loops(log);
    free(log);
    regions(sizes[s]);
  }
  regions(1);
  if (executed > 3 * 20 * 80000L) fail("a cancelled loop goes on", executed);
  return failures != 0;
}
