// Two members wait for each other by spinning on shared variables, with `flush` and with atomics.
#include "expect.h"

static void by_flush(int rounds) {
  volatile int turn = 0;
#pragma omp parallel num_threads(2) shared(turn)
  {
    int me = omp_get_thread_num();
    for (int i = 0; i < rounds; ++i) {
      for (;;) {
#pragma omp flush
        if (turn % 2 == me) break;
      }
      turn++;
#pragma omp flush
    }
  }
  EXPECT_EQ(turn, 2 * rounds);
}

static void by_atomics(int rounds) {
  int turn = 0, data = 0;
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    for (int i = 0; i < rounds; ++i) {
      int seen;
      do {
#pragma omp atomic read seq_cst
        seen = turn;
      } while (seen % 2 != me);
      data++;
#pragma omp atomic update seq_cst
      turn++;
    }
  }
  EXPECT_EQ(data, 2 * rounds);
}

int main(void) {
  allow_nesting();
  for (int round = 0; round < 10; ++round) {
    by_flush(100);
    by_atomics(100);
  }
  return verdict();
}
