// Many threads, few locks, and every one of them gets its turn.
#include <omp.h>
#include <stdio.h>

int main(void) {
  enum { kThreads = 32, kRounds = 500, kLocks = 3 };
  static omp_lock_t locks[kLocks];
  static long counts[kLocks], turns[kThreads];
  for (int i = 0; i < kLocks; ++i) omp_init_lock(&locks[i]);
  omp_set_dynamic(0);
#pragma omp parallel num_threads(kThreads)
  {
    int me = omp_get_thread_num();
    for (int i = 0; i < kRounds; ++i) {
      int which = (me + i) % kLocks;
      omp_set_lock(&locks[which]);
      counts[which] += 1;
      for (volatile int spin = 0; spin < 20; ++spin) {
      }
      omp_unset_lock(&locks[which]);
      turns[me] += 1;
    }
  }
  long total = 0;
  for (int i = 0; i < kLocks; ++i) total += counts[i];
  for (int i = 0; i < kThreads; ++i)
    if (turns[i] != kRounds) return printf("thread %d had %ld turns\n", i, turns[i]), 1;
  if (total != (long)kThreads * kRounds) return printf("%ld turns in all\n", total), 1;
  return 0;
}
