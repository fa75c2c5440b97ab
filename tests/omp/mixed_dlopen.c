// A shared object of the other compiler, loaded while the program runs, and used from serial code
// and from inside regions.
// library: support/mixed_part.c other
// reference: no
// reason: two runtimes would be in the process
#include "expect.h"
#include "library.h"

int main(int argc, char** argv) {
  allow_nesting();
  int members = 0;
#pragma omp parallel num_threads(3)
  add(&members, 1);
  EXPECT_EQ(members, 3);
  void* object = load_library(argc, argv);
  long (*other_sum)(int) = (long (*)(int))dlsym(object, "other_sum");
  void (*other_barrier)(void) = (void (*)(void))dlsym(object, "other_barrier");
  int (*other_number)(void) = (int (*)(void))dlsym(object, "other_number");
  for (int round = 0; round < 20; ++round) {
    int size = round % 8 + 1, arrived = 0;
    EXPECT_EQ(other_sum(size), size * (size - 1) / 2);
#pragma omp parallel num_threads(size)
    {
      EXPECT_EQ(other_sum(3), 3);
      EXPECT_EQ(other_number(), omp_get_thread_num());
      add(&arrived, 1);
      other_barrier();
      EXPECT_EQ(look(&arrived), size);
    }
  }
  return verdict();
}
