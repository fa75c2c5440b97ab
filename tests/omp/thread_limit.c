// OMP_THREAD_LIMIT bounds the members of all regions, nested ones included, that are there at once;
// a league with a limit of its own counts for itself.
// env: OMP_THREAD_LIMIT=6
// env: OMP_MAX_ACTIVE_LEVELS=4
// reference: no
// reason: libgomp and libomp give regions of a league fewer members than there may be
#include "expect.h"

static int running, most;

static void be_there(int limit) {
  int now = __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
  EXPECT(now <= limit);
  int before = __atomic_load_n(&most, __ATOMIC_RELAXED);
  while (now > before &&
         !__atomic_compare_exchange_n(&most, &before, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  usleep(2000);
  __atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
}

static int members_of(int threads) {
  int members = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  members = omp_get_num_threads();
  return members;
}

// Sizes of the regions one within the other, whose members but the masters are counted.
static void nested(int limit) {
  int others = 0;
#pragma omp parallel num_threads(5)
  {
#pragma omp master
    __atomic_add_fetch(&others, omp_get_num_threads() - 1, __ATOMIC_RELAXED);
#pragma omp barrier
#pragma omp parallel num_threads(5)
    {
#pragma omp master
      __atomic_add_fetch(&others, omp_get_num_threads() - 1, __ATOMIC_RELAXED);
#pragma omp parallel num_threads(2)
      be_there(limit);
    }
#pragma omp barrier
  }
  EXPECT(others >= (limit < 5 ? limit : 5) - 1);
}

static void regions_under(int limit) {
  EXPECT_EQ(omp_get_thread_limit(), limit);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(members_of(3), 3);
    EXPECT_EQ(members_of(limit), limit);
    EXPECT_EQ(members_of(limit + 3), limit);
    nested(limit);
  }
  int sum = 1;  // the copies of members that there are not would not be combined rightly
#pragma omp parallel num_threads(limit + 3) reduction(task, * : sum)
  {
#pragma omp task in_reduction(* : sum)
    sum *= 1;
  }
  EXPECT_EQ(sum, 1);
}

int main(void) {
  enum { kTries = 50 };
  omp_set_dynamic(0);
  // Where others have the CPUs, one thread may be the first in all of a region's members.
  for (int i = 0; i < kTries && most < 2; ++i) regions_under(6);
  EXPECT(most > 1 && most <= 6);

#pragma omp parallel num_threads(4)
#pragma omp single
  EXPECT_EQ(members_of(5), 3);  // the others and its own

#pragma omp target
#pragma omp teams num_teams(2) thread_limit(4)
  regions_under(4);
  EXPECT_EQ(members_of(8), 6);
  return verdict();
}
