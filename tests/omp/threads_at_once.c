// Several threads of the application open regions at the same time, nested ones with barriers, too:
// each sees only its own team.
#include <pthread.h>

#include "expect.h"

enum { THREADS = 6, ROUNDS = 40 };

static void* thread(void* argument) {
  allow_nesting();
  long mark = (long)argument;
  for (int round = 0; round < ROUNDS; ++round) {
    int outer = (int)(mark + round) % 5 + 1, inner = round % 4 + 1;
    int members = 0, inner_members = 0;
#pragma omp parallel num_threads(outer)
    {
      EXPECT_EQ(omp_get_num_threads(), outer);
      EXPECT_EQ(omp_get_level(), 1);
      add(&members, 1);
#pragma omp barrier
      EXPECT_EQ(look(&members), outer);
#pragma omp parallel num_threads(inner)
      {
        EXPECT_EQ(omp_get_level(), 2);
        EXPECT_EQ(omp_get_num_threads(), inner);
        add(&inner_members, 1);
#pragma omp barrier
      }
#pragma omp barrier
      EXPECT_EQ(look(&inner_members), outer * inner);
    }
    EXPECT_EQ(omp_get_level(), 0);
    EXPECT_EQ(omp_get_thread_num(), 0);
  }
  return NULL;
}

int main(void) {
  allow_nesting();
  for (int round = 0; round < 3; ++round) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, thread, (void*)i);
    thread((void*)7l);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  }
  return verdict();
}
