// Each member keeps its own floating-point control words: rounding and exception masks stay what it
// has set while others, that may share its OS thread, run in between.
// flags: -lm
#include <fenv.h>

#include "expect.h"

static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

// 1/3 as the SSE unit and the x87 unit round it.
__attribute__((noinline)) static double third(void) {
  volatile double one = 1, three = 3;
  return one / three;
}
__attribute__((noinline)) static long double long_third(void) {
  volatile long double one = 1, three = 3;
  return one / three;
}

int main(void) {
  int wrong = 0;
#pragma omp parallel num_threads(8)
  {
    int mode = modes[omp_get_thread_num() % 4];
    fesetround(mode);
    double expected = third();
    long double long_expected = long_third();
    for (int round = 0; round < 200; ++round) {
#pragma omp barrier
      if (fegetround() != mode || third() != expected || long_third() != long_expected)
        add(&wrong, 1);
    }
    fesetround(FE_TONEAREST);
  }
  EXPECT_EQ(wrong, 0);
  fesetround(FE_DOWNWARD);
  double below = third();
  fesetround(FE_UPWARD);
  EXPECT(below < third());
  fesetround(FE_TONEAREST);
  return verdict();
}
