/* lastprivate(conditional:): memory that the members of a loop share. */
// compilers: gcc
// reason: clang (14, 16) gives the value of no particular iteration, with any runtime
#include "worksharing.h"

static long x, y;

static void loops(int threads) {
  for (int r = 0; r < 12; ++r) {
    x = y = -1;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for lastprivate(conditional : x) schedule(dynamic, 2)
      for (int i = 0; i < 200; ++i)
        if (i % 7 == 3) x = i;
#pragma omp for lastprivate(conditional : y) schedule(static, 3)
      for (int i = 0; i < 200; ++i)
        if (i % 50 == 0) y = i;
    }
    if (x != 199) fail("lastprivate(conditional:) of a dynamic loop", x);
    if (y != 150) fail("lastprivate(conditional:) of a static loop", y);
  }
}

int main() {
  loops(1);
  loops(2);
  loops(7);
  loops(64);
  return failures != 0;
}
