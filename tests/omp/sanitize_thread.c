// ThreadSanitizer finds no races in a program that has none: it knows light threads, and what
// regions, barriers, locks and tasks order.
// compilers: gcc
// flags: -fsanitize=thread -Wno-tsan
// ours: named
// threads: 2 7
// reference: no
// reason: libgomp tells ThreadSanitizer nothing
// sanitized: no
#include "expect.h"

// Plain variables throughout: TSan looks at these.

static void nested(void) {
  int outer[9] = {0}, inner[9][5] = {{0}};
#pragma omp parallel num_threads(9)
  {
    int me = omp_get_thread_num();
    outer[me] = me;
#pragma omp barrier
    EXPECT_EQ(outer[(me + 1) % 9], (me + 1) % 9);
#pragma omp parallel num_threads(5)
    {
      int it = omp_get_thread_num();
      inner[me][it] = outer[me] + it;
#pragma omp barrier
      EXPECT_EQ(inner[me][(it + 1) % 5], me + (it + 1) % 5);
#pragma omp barrier
      inner[me][it] = 1;
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(inner[me][i], 1);
  }
  for (int i = 0; i < 9; ++i) EXPECT_EQ(inner[i][4], 1);
}

static void locked(void) {
  long sum = 0, nested_sum = 0, named = 0;
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(7)
  for (int i = 0; i < 50; ++i) {
    omp_set_lock(&lock);
    ++sum;
    omp_unset_lock(&lock);
    while (!omp_test_nest_lock(&nest)) {
#pragma omp taskyield
    }
    ++nested_sum;
    omp_unset_nest_lock(&nest);
#pragma omp critical(one)
    ++named;
  }
  EXPECT_EQ(sum, 350);
  EXPECT_EQ(nested_sum, 350);
  EXPECT_EQ(named, 350);
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
}

static void shared_out(void) {
  long sum = 0;
  int order = 0, given = 0, rows[12] = {0};
#pragma omp parallel num_threads(6) reduction(+ : sum)
  {
#pragma omp for schedule(dynamic) ordered
    for (int i = 0; i < 40; ++i) {
      sum += i;
#pragma omp ordered
      EXPECT_EQ(order++, i);
    }
    int mine;
#pragma omp single copyprivate(mine)
    {
      given = 5;
      mine = given;
    }
    EXPECT_EQ(mine + given, 10);
#pragma omp for ordered(1) schedule(static, 1)
    for (int i = 0; i < 12; ++i) {
#pragma omp ordered depend(sink : i - 1)
      rows[i] = i ? rows[i - 1] + 1 : 1;
#pragma omp ordered depend(source)
    }
  }
  EXPECT_EQ(sum, 780);
  EXPECT_EQ(rows[11], 12);
}

static long fib(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static void tasks(void) {
  long result = 0;
  int chain = 0, group = 0, parts[30] = {0}, awaited = 0;
#pragma omp parallel num_threads(6)
  {
#pragma omp single
    {
      result = fib(14);
      for (int i = 0; i < 30; ++i) {
#pragma omp task depend(inout : chain)
        ++chain;
      }
#pragma omp task depend(out : awaited)
      awaited = 3;
#pragma omp taskwait depend(in : awaited)
      EXPECT_EQ(awaited, 3);
#pragma omp taskgroup
      for (int i = 0; i < 30; ++i) {
#pragma omp task
        {
#pragma omp task
          parts[i] = 1;
        }
      }
      for (int i = 0; i < 30; ++i) group += parts[i];
    }
#pragma omp single
    {
      for (int i = 0; i < 30; ++i) {
#pragma omp task
        parts[i] = 2;
      }
    }  // all are over after the barrier here
    if (omp_get_thread_num() == 1)
      for (int i = 0; i < 30; ++i) EXPECT_EQ(parts[i], 2);
  }
  EXPECT_EQ(result, 377);
  EXPECT_EQ(chain, 30);
  EXPECT_EQ(group, 30);
}

int main(void) {
  allow_nesting();
  for (int round = 0; round < 5; ++round) {
    nested();
    locked();
    shared_out();
    tasks();
  }
  return verdict();
}
