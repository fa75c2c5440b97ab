// A hundred thousand nested regions leave no memory behind, whatever their sizes.
// reference: no
// reason: libgomp starts and ends a thread for each member of a nested region: it takes minutes
// sanitized: no
#include "expect.h"

static void regions(int outer, int count) {
#pragma omp parallel num_threads(outer)
  {
    int sum = 0;
    for (int i = 0; i < count; ++i) {
      int wanted = i % 7 + 1;
      int inner = 0;
#pragma omp parallel num_threads(wanted)
      {
        add(&inner, 1);
        if (i % 16 == 0) {
#pragma omp barrier
        }
      }
      sum += inner == wanted;
    }
    EXPECT_EQ(sum, count);
  }
}

int main(void) {
  allow_nesting();
  for (int warm = 0; warm < 10; ++warm) regions(warm % 8 + 1, 500);
  long before = resident_kib();
  for (int round = 0; round < 5; ++round)
    for (int outer = 1; outer <= 8; ++outer) regions(outer, 20000 / 8 / outer);
  regions(4, 20000);
  long grown = resident_kib() - before;
  if (grown > 1024) EXPECT_EQ(grown, 0);
  return verdict();
}
