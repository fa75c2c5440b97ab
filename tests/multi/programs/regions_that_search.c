// Threads of a pool and members of OpenMP's look for work by the same code, with a pause in
// between, and no proof follows such a spin: siblings of a member go on all the same.
// regions_that_search POOL SPINNERS REGIONS MEMBERS prints how many regions ended.
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kSlots = 16, kMostThreads = 32 };

static atomic_int slots[kSlots], over;

__attribute__((noinline)) static void rest(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Until a slot, which is chosen by chance, holds the number.
__attribute__((noinline)) static void search(int wanted, unsigned* seed) {
  for (;;) {
    *seed = *seed * 1103515245u + 12345u;
    if (atomic_load(&slots[(*seed >> 16) % kSlots]) == wanted) return;
    rest();
  }
}

static void* search_in_pool(void* number) {
  unsigned seed = (unsigned)(size_t)number;
  search(-1, &seed);
  return NULL;
}

static void* spin(void* nothing) {
  while (!atomic_load(&over))
    for (volatile int i = 0; i < 1000; ++i) continue;
  return nothing;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  int pool = atoi(argv[1]), spinners = atoi(argv[2]), regions = atoi(argv[3]),
      members = atoi(argv[4]), count = 0;
  if (pool + spinners > kMostThreads || members > kSlots) return 2;
  pthread_t threads[kMostThreads];
  for (; count < pool + spinners; ++count)
    if (pthread_create(&threads[count], NULL, count < pool ? search_in_pool : spin,
                       (void*)(size_t)count) != 0)
      return 1;
  // The pool's spins are found.
  const struct timespec while_they_spin = {0, 300000000};
  nanosleep(&while_they_spin, NULL);
  for (int region = 0; region < regions; ++region) {
    // Each but the last waits for the next one.
#pragma omp parallel num_threads(members)
    {
      int own = omp_get_thread_num(), first = 1000 * (region + 1);
      unsigned seed = (unsigned)own;
      if (own < members - 1) search(first + own + 1, &seed);
      atomic_store(&slots[own], first + own);
    }
  }
  atomic_store(&over, 1);
  for (int i = 0; i < kSlots; ++i) atomic_store(&slots[i], -1);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  printf("%d regions\n", regions);
  return 0;
}
