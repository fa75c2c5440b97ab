// What omp_get_max_threads says is the number that was asked for, whatever the limit of a region's
// members is; so is what is set later.
// env: OMP_NUM_THREADS=6 OMP_THREAD_LIMIT=4
#include "expect.h"

int main(void) {
  EXPECT_EQ(omp_get_max_threads(), 6);
  omp_set_num_threads(9);
  EXPECT_EQ(omp_get_max_threads(), 9);
  EXPECT_EQ(omp_get_thread_limit(), 4);
  int members = 0;
#pragma omp parallel
  add(&members, 1);
  EXPECT(members <= 4);
  return verdict();
}
