// Regions in the constructors and destructors of the program and of a library it is linked with,
// before main and after it.
// library: support/early.c same linked
#include "expect.h"

int early_members(void);

static int own_early;
static __attribute__((constructor)) void early(void) {
#pragma omp parallel num_threads(5)
  add(&own_early, 1);
}

int main(void) {
  EXPECT_EQ(early_members(), 603);
  EXPECT_EQ(own_early, 5);
  int members = 0;
#pragma omp parallel num_threads(7)
  add(&members, 1);
  EXPECT_EQ(members, 7);
  return verdict();
}
