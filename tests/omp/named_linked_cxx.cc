// The same for C++, with exceptions caught inside a region, and the library's names linked by both
// the program and a library.
// object: support/whose.c same
// library: support/early.c same linked
// ours: named both
// reference: no
// reason: it is about our libraries
#include "expect.h"

extern "C" int served_by_one_roost(void);
extern "C" int early_members(void);

int main() {
  EXPECT(served_by_one_roost());
  EXPECT_EQ(early_members(), 603);
  int caught = 0;
#pragma omp parallel num_threads(6)
  {
    try {
#pragma omp barrier
      throw omp_get_thread_num();
    } catch (int number) {
      EXPECT_EQ(number, omp_get_thread_num());
      add(&caught, 1);
    }
  }
  EXPECT_EQ(caught, 6);
  return verdict();
}
