// A program and a library of different compilers, each linked with its own runtime's name: they
// meet in one, in each other's regions, too.
// object: support/whose.c same
// library: support/mixed_part.c other linked
// ours: named both
// reference: no
// reason: two runtimes would be in the process
#include "expect.h"

int served_by_one_roost(void);
long other_sum(int members);
void other_barrier(void);
int other_number(void);

int main(void) {
  EXPECT(served_by_one_roost());
  EXPECT_EQ(other_sum(7), 21);
  int arrived = 0;
#pragma omp parallel num_threads(6)
  {
    EXPECT_EQ(other_number(), omp_get_thread_num());
    add(&arrived, 1);
    other_barrier();
    EXPECT_EQ(look(&arrived), 6);
    EXPECT_EQ(other_sum(3), 3);
  }
  return verdict();
}
