// Random regions from random threads: sizes, depth, barriers and critical sections by a seeded
// generator, with sums that must come out.
#include <pthread.h>

#include "expect.h"

enum { THREADS = 5, REGIONS = 60 };

static unsigned draw(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 12;
}

static long sum;

// Opens a region and returns how many members there were in it and below.
static int grow(unsigned seed, int level) {
  static const int sizes[] = {1, 2, 2, 3, 4, 5, 8, 13};
  int size = sizes[draw(&seed) % (level == 1 ? 8 : 5)];
  int barriers = (int)(draw(&seed) % 4), deeper = level < 3 && draw(&seed) % 3 == 0;
  unsigned lone = draw(&seed) % 20;
  int members = 0, arrived = 0;
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
    EXPECT_EQ(omp_get_num_threads(), size);
    EXPECT_EQ(omp_get_level(), level);
    add(&members, 1);
    for (int i = 1; i <= barriers; ++i) {
      add(&arrived, 1);
#pragma omp barrier
      EXPECT_EQ(look(&arrived), size * i);
#pragma omp barrier
    }
    if (deeper) add(&members, grow(seed + (unsigned)me, level + 1));
    if ((unsigned)me == lone) add(&members, grow(seed * 3, level + 1));
#pragma omp critical
    sum++;
  }
  return members;
}

// The same without OpenMP.
static int wanted(unsigned seed, int level) {
  static const int sizes[] = {1, 2, 2, 3, 4, 5, 8, 13};
  int size = sizes[draw(&seed) % (level == 1 ? 8 : 5)];
  draw(&seed);
  int deeper = level < 3 && draw(&seed) % 3 == 0;
  unsigned lone = draw(&seed) % 20;
  int members = size;
  for (int me = 0; me < size; ++me) {
    if (deeper) members += wanted(seed + (unsigned)me, level + 1);
    if ((unsigned)me == lone) members += wanted(seed * 3, level + 1);
  }
  return members;
}

static long total;
static void* thread(void* argument) {
  allow_nesting();
  unsigned seed = (unsigned)(long)argument * 7919u + 17;
  for (int i = 0; i < REGIONS; ++i) {
    unsigned own = draw(&seed);
    int members = grow(own, 1);
    EXPECT_EQ(members, wanted(own, 1));
    __atomic_add_fetch(&total, members, __ATOMIC_RELAXED);
  }
  return NULL;
}

int main(int argc, char** argv) {
  allow_nesting();
  long first = argc > 1 ? atol(argv[1]) : 1;
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, thread, (void*)(first + i));
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  EXPECT_EQ(sum, total);
  return verdict();
}
