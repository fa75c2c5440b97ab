// A lock may be held across a barrier of an inner region and across waits for other locks, however
// threads share cores.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { kOuter = 6, kInner = 4, kRounds = 50 };
  omp_lock_t outer_lock, inner_lock[kOuter];
  omp_init_lock(&outer_lock);
  for (int i = 0; i < kOuter; ++i) omp_init_lock(&inner_lock[i]);
  omp_set_max_active_levels(3);
  omp_set_dynamic(0);
  long total = 0;
#pragma omp parallel num_threads(kOuter)
  {
    int me = omp_get_thread_num();
    for (int i = 0; i < kRounds; ++i) {
      omp_set_lock(&outer_lock);
#pragma omp parallel num_threads(kInner)
      {
        omp_set_lock(&inner_lock[me]);
#pragma omp atomic
        total += 1;
        omp_unset_lock(&inner_lock[me]);
#pragma omp barrier
#pragma omp critical
        {
#pragma omp atomic
          total += 1;
        }
      }
      omp_unset_lock(&outer_lock);
    }
    // All wait for locks that threads hold which wait themselves.
    for (int i = 0; i < kRounds; ++i) {
#pragma omp parallel num_threads(kInner)
      {
        int low = me < kOuter - 1 ? me : 0;
        int high = me < kOuter - 1 ? me + 1 : kOuter - 1;
        omp_set_lock(&inner_lock[low]);
        omp_set_lock(&inner_lock[high]);
#pragma omp atomic
        total += 1;
        omp_unset_lock(&inner_lock[high]);
        omp_unset_lock(&inner_lock[low]);
#pragma omp barrier
      }
    }
  }
  if (total == 3L * kOuter * kInner * kRounds) return 0;
  printf("%ld instead of %ld\n", total, 3L * kOuter * kInner * kRounds);
  return 1;
}
