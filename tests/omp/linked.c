// A program that was linked with our library in place of libgomp or libomp runs without a word.
// object: support/whose.c same
// ours: linked
// reference: no
// reason: it is about our library
#include "expect.h"

int served_by_one_roost(void);

int main(void) {
  EXPECT(served_by_one_roost());
  int members = 0;
#pragma omp parallel num_threads(5)
  add(&members, 1);
  EXPECT_EQ(members, 5);
  return verdict();
}
