// Members wait for all of their team by spinning, within regions of their own: whoever waits in a
// nested region begins members of the outer one, however many there are of both.
#include "expect.h"

static void meet(int* arrived, int all) {
  add(arrived, 1);
  while (look(arrived) < all) {
  }
}

static void nested(int outer, int inner) {
  int arrived = 0, left = 0;
#pragma omp parallel num_threads(outer)
#pragma omp parallel num_threads(inner)
  {
    meet(&arrived, outer * inner);
    add(&left, 1);
  }
  EXPECT_EQ(left, outer * inner);
}

int main(void) {
  allow_nesting();
  for (int round = 0; round < 2; ++round) {
    nested(2, 2);
    nested(8, 2);
    nested(7, 3);
    nested(3, 8);
  }
  return verdict();
}
