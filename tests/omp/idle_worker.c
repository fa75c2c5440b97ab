// scheduler: roost
// threads: 2
//
// A worker that began light calls in a region it waited in, and has nothing to do since, is not a
// member of that team that blocks: the team would get an OS thread a member from then on.
#include <pthread.h>
#include <stdatomic.h>

#include "expect.h"
#include "os_threads.h"

enum { kSize = 6, kCrowd = 4 };

static atomic_int arrived, over;

// At the first time the master leaves its worker the rest.
static void part(void) {
  if (arrived >= kSize - 1) {
    compute_for(0.006);
  } else if (omp_get_thread_num() == 0) {
    for (double end = omp_get_wtime() + 1; arrived < kSize - 1 && omp_get_wtime() < end;) continue;
  } else {
    ++arrived;
  }
}

static void* compute(void* unused) {
  while (!over) compute_for(0.001);
  return unused;
}

int main(void) {
  int cores = omp_get_num_procs();
  if (cores >= kSize) return 0;  // each member has a core
  os_threads_of(part, kSize);
  arrived = kSize;
  pthread_t crowd[kCrowd];
  for (int i = 0; i < kCrowd; ++i) pthread_create(&crowd[i], NULL, compute, NULL);
  fewest_os_threads_of(part, kSize, 10);
  EXPECT(fewest_os_threads_of(part, kSize, 10) <= cores);
  over = 1;
  for (int i = 0; i < kCrowd; ++i) pthread_join(crowd[i], NULL);
  return verdict();
}
