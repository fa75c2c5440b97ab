/* single: one thread each time; copyprivate: all have its value; nowait chains; master and masked.
 */
#include "worksharing.h"

static void body(struct log* log) {
  for (int r = 0; r < 50; ++r) {
    int value = -1;
    double other = 0;
#pragma omp single copyprivate(value, other)
    {
      value = r * 3;
      other = r + 0.5;
      hit(log, r);
    }
    if (value != r * 3 || other != r + 0.5) fail("copyprivate", r);
  }
  check(log, "single copyprivate", 50, 1);
  for (int r = 0; r < 500; ++r) {
#pragma omp single nowait
    hit(log, r);
  }
  check(log, "single nowait", 500, 1);
  for (int r = 0; r < 50; ++r) {
#pragma omp master
    {
      hit(log, r);
      if (omp_get_thread_num() != 0) fail("master by another thread", omp_get_thread_num());
    }
  }
  check(log, "master", 50, 1);
}

int main() {
  everywhere(body);
  return failures != 0;
}
