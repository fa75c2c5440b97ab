// Cancelling one construct takes no iterations and no sections from others: not from those before
// it in which members still are, nor, before their next cancellation point, from those after it.
// env: OMP_CANCELLATION=true
// reference: gcc
// reason: libomp 14 ends in an assertion about its dynamic loops
#include "expect.h"

// Counted just before one member cancels: the others go on when that has happened, or almost.
static int cancels;
static void await_cancel(void) {
  while (!look(&cancels)) usleep(50);
  usleep(200);
}

static void cancelled_loop(void) {
#pragma omp for schedule(dynamic, 1)
  for (int i = 0; i < 100; ++i) {
    add(&cancels, 1);
#pragma omp cancel for
  }
}

static void cancelled_sections(void) {
#pragma omp sections
  {
#pragma omp section
    {
      add(&cancels, 1);
#pragma omp cancel sections
    }
#pragma omp section
    usleep(10);
  }
}

enum { EACH = 10 };

// Member 0 leaves the loop and cancels what comes next, while the others have all of theirs to do.
static void loop_before(int n, void (*cancelled)(void)) {
  int count = 0;
  cancels = 0;
#pragma omp parallel num_threads(n)
  {
    int member = omp_get_thread_num();
#pragma omp for schedule(runtime) nowait
    for (int i = 0; i < EACH * n; ++i) {
      if (member != 0) await_cancel();
      add(&count, 1);
    }
    cancelled();
  }
  EXPECT_EQ(count, EACH * n);
}

static void loops_before(int n) {
  void (*const cancelled[])(void) = {cancelled_loop, cancelled_sections};
  for (int i = 0; i < 2; ++i) {
    omp_set_schedule(omp_sched_static, 1);
    loop_before(n, cancelled[i]);
    omp_set_schedule(omp_sched_static, 0);
    loop_before(n, cancelled[i]);
    omp_set_schedule(omp_sched_dynamic, 1);
    loop_before(n, cancelled[i]);
    omp_set_schedule(omp_sched_guided, 1);
    loop_before(n, cancelled[i]);
  }
}

// Members that have not come to a cancellation point of the region share what is there, but for
// ordered loops. (clang gives a lone section to member 0, and a second one to member 1.)
static void constructs_after(int n) {
  int count = 0, section = 0, goes_on = 0;
  cancels = 0;
#pragma omp parallel num_threads(n)
  {
    if (omp_get_thread_num() == n - 1) {
      add(&cancels, 1);
#pragma omp cancel parallel
      add(&goes_on, 1);
    }
    await_cancel();
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < EACH * n; ++i) add(&count, 1);
#pragma omp for schedule(guided) nowait
    for (int i = 0; i < EACH * n; ++i) add(&count, 1);
#pragma omp sections nowait
    {
#pragma omp section
      add(&section, 1);
    }
#pragma omp cancellation point parallel
    add(&goes_on, 1);
  }
  EXPECT_EQ(count, 2 * EACH * n);
  EXPECT_EQ(section, 1);
  EXPECT_EQ(goes_on, 0);
}

// Iterations without an ordered region pass their turn on while the last member cancels a loop.
static void ordered_before(int n) {
  int ordered = 0;
  cancels = 0;
#pragma omp parallel num_threads(n)
  {
#pragma omp for ordered schedule(static, 1) nowait
    for (int i = 0; i < n - 1; ++i) {
      await_cancel();
      if (i % 2) {
#pragma omp ordered
        ++ordered;
      }
    }
    cancelled_loop();
  }
  EXPECT_EQ(ordered, (n - 1) / 2);
}

int main(void) {
  if (!omp_get_cancellation()) return 1;
  omp_set_dynamic(0);
  const int sizes[] = {2, 4, 7};
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i) {
      loops_before(sizes[i]);
      constructs_after(sizes[i]);
    }
  }
  if (problems) return verdict();  // what comes now might hang
  for (int round = 0; round < 5; ++round)
    for (int i = 0; i < 3; ++i) ordered_before(sizes[i]);
  return verdict();
}
