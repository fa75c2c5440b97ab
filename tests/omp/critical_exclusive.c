// Critical sections exclude each other across teams, levels and the application's own threads;
// those of different names do not; and one is left by whoever had to wait in it.
#include <pthread.h>

#include "expect.h"

enum { THREADS = 4, ROUNDS = 100 };

static long unnamed, first, second;
static int inside_first;

static void work(int round) {
#pragma omp critical
  unnamed++;
#pragma omp critical(first)
  {
    EXPECT_EQ(add(&inside_first, 1), 1);
    first++;
    if (round % 8 == 0) {
#pragma omp critical(second)
      second++;
    }
    EXPECT_EQ(add(&inside_first, -1), 0);
  }
  if (round % 8) {
#pragma omp critical(second)
    second++;
  }
}

static void* thread(void* unused) {
  allow_nesting();
#pragma omp parallel num_threads(3)
  for (int round = 0; round < ROUNDS; ++round) {
#pragma omp parallel num_threads(round % 4 + 1)
    work(round);
  }
  return unused;
}

// A region inside a critical section: its members must not need the section, and it ends.
static void region_inside(void) {
  long sum = 0;
#pragma omp parallel num_threads(8)
  {
#pragma omp critical(outside)
    {
      int members = 0;
#pragma omp parallel num_threads(5)
      {
        add(&members, 1);
#pragma omp barrier
      }
      sum += members;
    }
  }
  EXPECT_EQ(sum, 40);
}

int main(void) {
  allow_nesting();
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, thread, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  long wanted = THREADS * 3l * (ROUNDS / 4) * (1 + 2 + 3 + 4);
  EXPECT_EQ(unnamed, wanted);
  EXPECT_EQ(first, wanted);
  EXPECT_EQ(second, wanted);
  for (int round = 0; round < 50; ++round) region_inside();
  return verdict();
}
