// Locks exclude, nestable ones count, and testing one that is taken fails without waiting.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { kRounds = 2000 };

int main(void) {
  omp_lock_t lock, other;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_lock(&other);
  omp_init_nest_lock(&nest);
  CHECK(omp_test_lock(&lock));
  CHECK(!omp_test_lock(&lock));
  omp_unset_lock(&lock);
  CHECK(omp_test_nest_lock(&nest) == 1);
  CHECK(omp_test_nest_lock(&nest) == 2);
  omp_set_nest_lock(&nest);
  CHECK(omp_test_nest_lock(&nest) == 4);
  for (int i = 0; i < 3; ++i) omp_unset_nest_lock(&nest);

  long count = 0, nested = 0, tested = 0, critical = 0, named = 0;
  int threads = 0, refused = 0;
#pragma omp parallel
  {
#pragma omp atomic
    threads += 1;
    if (omp_get_thread_num() != 0) {
      int no = omp_test_nest_lock(&nest) == 0;
#pragma omp atomic
      refused += no;
    }
#pragma omp barrier
    if (omp_get_thread_num() == 0) omp_unset_nest_lock(&nest);
#pragma omp barrier
    for (int i = 0; i < kRounds; ++i) {
      omp_set_lock(&lock);
      long seen = count;
      count = seen + 1;
      omp_unset_lock(&lock);
      omp_set_nest_lock(&nest);
      omp_set_nest_lock(&nest);
      nested += 1;
      omp_unset_nest_lock(&nest);
      nested += 1;
      omp_unset_nest_lock(&nest);
      while (!omp_test_lock(&other)) {
      }
      tested += 1;
      omp_unset_lock(&other);
#pragma omp critical
      critical += 1;
#pragma omp critical(named)
      named += 1;
    }
  }
  CHECK(count == (long)threads * kRounds && tested == (long)threads * kRounds);
  CHECK(critical == (long)threads * kRounds && named == (long)threads * kRounds);
  CHECK(nested == 2L * threads * kRounds);
  CHECK(refused == threads - 1);
  omp_destroy_lock(&lock);
  omp_destroy_lock(&other);
  omp_destroy_nest_lock(&nest);
  return 0;
}
