// Members wait for each other by spinning in a program whose thread-local storage, which libc puts
// on every thread's stack, is larger than the stacks of the runtime's own helpers.
#include "expect.h"

static _Thread_local char much[1 << 20];

static void take_turns(int members, int rounds) {
  int turn = 0, data = 0;
#pragma omp parallel num_threads(members)
  {
    int me = omp_get_thread_num(), n = omp_get_num_threads();
    for (int i = 0; i < rounds; ++i) {
      int seen;
      do {
#pragma omp atomic read seq_cst
        seen = turn;
      } while (seen % n != me);
      data++;
#pragma omp atomic update seq_cst
      turn++;
    }
  }
  EXPECT_EQ(data, members * rounds);
}

int main(void) {
  allow_nesting();
  *(volatile char*)&much[sizeof much / 2] = 1;
  for (int round = 0; round < 4; ++round) take_turns(4, 20);
  return verdict();
}
