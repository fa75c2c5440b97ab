// Thread-local and threadprivate variables of a program: each member of an outermost region has its
// own, and finds it again in the next region of the same size.
#include "expect.h"

static int counter = 100;
#pragma omp threadprivate(counter)
static __thread int plain;

static void regions(int size) {
#pragma omp parallel num_threads(size)
  {
    counter = omp_get_thread_num();
    plain = -omp_get_thread_num();
#pragma omp barrier
    EXPECT_EQ(counter, omp_get_thread_num());
    EXPECT_EQ(plain, -omp_get_thread_num());
  }
  for (int round = 1; round < 5; ++round) {
#pragma omp parallel num_threads(size)
    {
      EXPECT_EQ(counter, omp_get_thread_num() + round - 1);
      counter++;
#pragma omp barrier
      EXPECT_EQ(counter, omp_get_thread_num() + round);
    }
  }
  counter = 77;
#pragma omp parallel num_threads(size) copyin(counter)
  {
    EXPECT_EQ(counter, 77);
    counter += omp_get_thread_num();
#pragma omp barrier
    EXPECT_EQ(counter, 77 + omp_get_thread_num());
  }
}

int main(void) {
  omp_set_dynamic(0);
  static const int sizes[] = {1, 2, 3, 7, 16, 40, 2};
  for (int i = 0; i < 7; ++i) regions(sizes[i]);
  return verdict();
}
