// More members than there are cores take turns by spinning on shared variables: those that share an
// OS thread come to run all the same.
#include "expect.h"

static void by_flush(int size, int rounds) {
  volatile int turn = 0;
#pragma omp parallel num_threads(size) shared(turn)
  {
    int me = omp_get_thread_num();
    for (int i = 0; i < rounds; ++i) {
      for (;;) {
#pragma omp flush
        if (turn % size == me) break;
      }
      turn++;
#pragma omp flush
    }
  }
  EXPECT_EQ(turn, size * rounds);
}

static void by_atomics(int size, int rounds) {
  int turn = 0;
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
    for (int i = 0; i < rounds; ++i) {
      int seen;
      do {
#pragma omp atomic read seq_cst
        seen = turn;
      } while (seen % size != me);
#pragma omp atomic update seq_cst
      turn++;
    }
  }
  EXPECT_EQ(turn, size * rounds);
}

int main(void) {
  allow_nesting();
  by_flush(4, 10);
  by_atomics(4, 10);
  by_flush(8, 4);
  by_atomics(8, 4);
  return verdict();
}
