// Objects of gcc and of clang in one program: regions of one inside regions of the other, orphaned
// barriers, and both kinds in turn.
// object: support/mixed_part.c other
// reference: clang
// reason: with gcc's command to link, two runtimes would be in the process
#include "expect.h"

long other_sum(int members);
void other_barrier(void);
int other_level(void);
int other_number(void);
void other_region(int members, void (*function)(void*), void* argument);

struct shared {
  int arrived, size;
};

static void in_other_region(void* argument) {
  struct shared* shared = argument;
  EXPECT_EQ(omp_get_num_threads(), shared->size);
  EXPECT_EQ(omp_get_level(), other_level());
  EXPECT_EQ(omp_get_thread_num(), other_number());
  add(&shared->arrived, 1);
#pragma omp barrier
  EXPECT_EQ(look(&shared->arrived), shared->size);
  other_barrier();
  int members = 0;
#pragma omp parallel num_threads(3)
  {
    add(&members, 1);
    other_barrier();
    EXPECT_EQ(look(&members), 3);
  }
}

static void round_of(int size) {
  long wanted = size * (size - 1l) / 2;
  EXPECT_EQ(other_sum(size), wanted);
  int arrived = 0, level = omp_get_level();
#pragma omp parallel num_threads(size)
  {
    EXPECT_EQ(other_level(), level + 1);
    EXPECT_EQ(other_number(), omp_get_thread_num());
    add(&arrived, 1);
    other_barrier();
    EXPECT_EQ(look(&arrived), size);
    EXPECT_EQ(other_sum(4), 6);
#pragma omp barrier
    EXPECT_EQ(other_number(), omp_get_thread_num());
  }
  struct shared shared = {0, size};
  other_region(size, in_other_region, &shared);
  EXPECT_EQ(shared.arrived, size);
}

int main(void) {
  allow_nesting();
  for (int round = 0; round < 5; ++round)
    for (int size = 1; size < 9; ++size) round_of(size);
  round_of(65);
  return verdict();
}
