// The part of the mixed_* tests that another compiler builds.
#include <omp.h>

long other_sum(int members) {
  long sum = 0;
  int arrived = 0, bad = 0;
#pragma omp parallel num_threads(members)
  {
    if (omp_get_num_threads() != members) __atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);
#pragma omp barrier
    if (__atomic_load_n(&arrived, __ATOMIC_RELAXED) != members)
      __atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
#pragma omp critical(mixed)
    sum += omp_get_thread_num();
  }
  return bad ? -1 : sum;
}

// An orphaned barrier: of the team of the caller, whoever opened it.
void other_barrier(void) {
#pragma omp barrier
}
int other_level(void) { return omp_get_level(); }
int other_number(void) { return omp_get_thread_num(); }

void other_region(int members, void (*function)(void*), void* argument) {
#pragma omp parallel num_threads(members)
  function(argument);
}
