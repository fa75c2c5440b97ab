// A nestable lock belongs to the task that took it: another task of its thread does not have it.
// compilers: gcc
// reason: libomp gives it to the thread, and so do clang's programs here
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static omp_nest_lock_t lock;

static void others_do_not_have_it(void) {
  int got = -1;
#pragma omp task if (0) shared(got)
  got = omp_test_nest_lock(&lock);
  CHECK(got == 0);
#pragma omp task final(1) shared(got)
  got = omp_test_nest_lock(&lock);
#pragma omp taskwait
  CHECK(got == 0);
#pragma omp parallel num_threads(1)
  got = omp_test_nest_lock(&lock);
  CHECK(got == 0);
}

int main(void) {
  omp_init_nest_lock(&lock);
#pragma omp parallel
#pragma omp single
  {
    omp_set_nest_lock(&lock);
    CHECK(omp_test_nest_lock(&lock) == 2);
    others_do_not_have_it();
    CHECK(omp_test_nest_lock(&lock) == 3);
    for (int i = 0; i < 3; ++i) omp_unset_nest_lock(&lock);
    // Explicit tasks own it, one after the other.
    for (int i = 0; i < 100; ++i) {
#pragma omp task if (i % 2)
      {
        omp_set_nest_lock(&lock);
        omp_set_nest_lock(&lock);
        others_do_not_have_it();
        CHECK(omp_test_nest_lock(&lock) == 3);
        for (int k = 0; k < 3; ++k) omp_unset_nest_lock(&lock);
      }
    }
  }
  CHECK(omp_test_nest_lock(&lock) == 1);
  omp_unset_nest_lock(&lock);
  omp_destroy_nest_lock(&lock);
  return 0;
}
