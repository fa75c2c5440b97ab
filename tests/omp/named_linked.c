// A program that was linked with libgomp or libomp runs on libraries of these names that are ours.
// object: support/whose.c same
// ours: named both
// reference: no
// reason: it is about our libraries
#include "expect.h"

int served_by_one_roost(void);

int main(void) {
  EXPECT(served_by_one_roost());
  int members = 0, tasks = 0;
#pragma omp parallel num_threads(5)
  {
    add(&members, 1);
#pragma omp single
    for (int i = 0; i < 20; ++i) {
#pragma omp task
      add(&tasks, 1);
    }
  }
  EXPECT_EQ(members, 5);
  EXPECT_EQ(tasks, 20);
  return verdict();
}
