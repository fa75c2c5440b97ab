// Members that wait for tasks again and again until another member says so, which begins late: each
// of their waits is short, but there is no end to them. Every member begins in the end.
#include "expect.h"
#include "os_threads.h"

enum { kSize = 6, kRounds = 3 };

static int told;

static void work(void) { compute_for(0.00005); }

static void wait_for_tasks(void) {
#pragma omp task
  work();
#pragma omp taskwait
}
static void wait_for_group(void) {
#pragma omp taskgroup
  {
#pragma omp task
    work();
#pragma omp task
    work();
  }
}
static void wait_for_loop(void) {
#pragma omp taskloop grainsize(1)
  for (int i = 0; i < 4; ++i) work();
}
static void wait_for_chain(void) {
  int link = 0;
#pragma omp task depend(inout : link)
  work();
#pragma omp task depend(inout : link)
  work();
#pragma omp taskwait
  (void)link;
}

int main(void) {
  void (*const waits[])(void) = {wait_for_tasks, wait_for_group, wait_for_loop, wait_for_chain};
  for (unsigned kind = 0; kind < sizeof waits / sizeof waits[0]; ++kind) {
    for (int round = 0; round < kRounds; ++round) {
      told = 0;
      int members = 0;
#pragma omp parallel num_threads(kSize)
      {
        if (omp_get_thread_num() == kSize - 1) __atomic_store_n(&told, 1, __ATOMIC_RELAXED);
        while (!look(&told)) waits[kind]();
#pragma omp atomic
        members += 1;
      }
      EXPECT_EQ(members, kSize);
    }
  }
  return verdict();
}
