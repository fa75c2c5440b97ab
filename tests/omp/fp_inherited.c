// Members begin with the floating-point modes of the thread that has opened the region, and leave
// it its own, though some run in their place on its stack.
// flags: -lm
// reference: no
// reason: members of libgomp have the modes that their threads had
#include <fenv.h>

#include "expect.h"

int main(void) {
  int others = 0, changed = 0;
  for (int round = 0; round < 200; ++round) {
    fesetround(FE_UPWARD);
#pragma omp parallel num_threads(7)
    {
      if (fegetround() != FE_UPWARD) add(&others, 1);
      if (omp_get_thread_num() > 0) fesetround(FE_DOWNWARD);
    }
    changed += fegetround() != FE_UPWARD;
  }
  fesetround(FE_TONEAREST);
  EXPECT_EQ(others, 0);
  EXPECT_EQ(changed, 0);
  return verdict();
}
