// A thousand threads of the application, a few at a time, open regions and end: nothing of theirs
// stays behind.
// reference: clang
// reason: libgomp starts and ends a pool of threads for each of them: it takes too long
// sanitized: no
#include <pthread.h>

#include "expect.h"

enum { THREADS = 1000, AT_ONCE = 4 };

static void* thread(void* argument) {
  allow_nesting();
  long number = (long)argument;
  int size = (int)(number % 4 + 1), members = 0, inner = 0;
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel num_threads(size)
    {
      add(&members, 1);
#pragma omp barrier
      if (number % 3 == 0) {
#pragma omp parallel num_threads(2)
        add(&inner, 1);
      }
    }
  }
  EXPECT_EQ(members, 3 * size);
  EXPECT_EQ(inner, number % 3 == 0 ? 6 * size : 0);
  return NULL;
}

static void run(int count) {
  pthread_t threads[AT_ONCE];
  for (long i = 0; i < count + AT_ONCE; ++i) {
    if (i >= AT_ONCE) pthread_join(threads[i % AT_ONCE], NULL);
    if (i < count && pthread_create(&threads[i % AT_ONCE], NULL, thread, (void*)i) != 0) abort();
  }
}

int main(void) {
  allow_nesting();
  run(THREADS / 5);
  long before = resident_kib();
  run(THREADS);
  long grown = resident_kib() - before;
  if (grown > 4096) EXPECT_EQ(grown, 0);
  return verdict();
}
