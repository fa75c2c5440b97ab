// Nobody passes a barrier before all have come to it: flat with up to 200 members, and at every
// level of nested regions.
#include "expect.h"

static void flat(int n, int rounds) {
  int arrived = 0, plain = 0;
#pragma omp parallel num_threads(n)
  {
    for (int round = 1; round <= rounds; ++round) {
      add(&arrived, 1);
#pragma omp barrier
      EXPECT_EQ(look(&arrived), n * round);
#pragma omp barrier
      // What one member wrote without more ado, all see behind the barrier.
      if (omp_get_thread_num() == round % n) plain = round;
#pragma omp barrier
      EXPECT_EQ(plain, round);
#pragma omp barrier
    }
  }
}

static void nested(int a, int b, int c, int rounds) {
  int outer = 0;
#pragma omp parallel num_threads(a)
  {
    int middle = 0;
    for (int round = 1; round <= rounds; ++round) {
      add(&outer, 1);
#pragma omp barrier
      EXPECT_EQ(look(&outer), a * round);
#pragma omp barrier
    }
#pragma omp parallel num_threads(b)
    {
      int inner = 0;
      for (int round = 1; round <= rounds; ++round) {
        add(&middle, 1);
#pragma omp barrier
        EXPECT_EQ(look(&middle), b * round);
#pragma omp barrier
      }
#pragma omp parallel num_threads(c)
      for (int round = 1; round <= rounds; ++round) {
        add(&inner, 1);
#pragma omp barrier
        EXPECT_EQ(look(&inner), c * round);
#pragma omp barrier
      }
      EXPECT_EQ(inner, c * rounds);
#pragma omp barrier
      EXPECT_EQ(look(&middle), b * rounds);
    }
    add(&outer, 1);
#pragma omp barrier
    EXPECT_EQ(look(&outer), a * (rounds + 1));
  }
}

int main(void) {
  allow_nesting();
  for (int n = 1; n <= 18; ++n) flat(n, 20);
  flat(2, 2000);
  flat(63, 5);
  flat(64, 5);
  flat(65, 5);
  flat(200, 3);
  nested(2, 2, 2, 10);
  nested(3, 1, 4, 10);
  nested(1, 9, 2, 10);
  nested(4, 3, 3, 5);
  nested(2, 2, 17, 3);
  return verdict();
}
