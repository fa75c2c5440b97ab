// A program that leaves the size of its regions to the runtime gets no more members than cores, nor
// more than a loop has chunks; one that does not gets what it asks for.
// reference: no
// reason: how many there are is left to each runtime
#include <sched.h>

#include "expect.h"

static int cores(void) {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  return CPU_COUNT(&allowed);
}

static int members_of_region(int threads) {
  int members = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  members = omp_get_num_threads();
  return members;
}

// Of constant bounds: gcc tells the runtime of the loop together with the region.
#define MEMBERS_OF_LOOP(name, iterations)                                                      \
  static int name(int threads) {                                                               \
    int members = 0, done = 0;                                                                 \
    _Pragma("omp parallel for num_threads(threads) schedule(dynamic, 2)") for (int i = 0;      \
                                                                               i < iterations; \
                                                                               ++i) {          \
      __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);                                          \
      __atomic_store_n(&members, omp_get_num_threads(), __ATOMIC_RELAXED);                     \
    }                                                                                          \
    EXPECT_EQ(done, iterations);                                                               \
    return members;                                                                            \
  }
MEMBERS_OF_LOOP(members_of_long_loop, 100)
MEMBERS_OF_LOOP(members_of_short_loop, 2)

static int members_of_sections(int threads) {
  int members = 0;
#pragma omp parallel sections num_threads(threads)
  {
#pragma omp section
    members = omp_get_num_threads();
  }
  return members;
}

int main(void) {
  int most = cores();
  omp_set_dynamic(0);
  EXPECT_EQ(members_of_region(most + 3), most + 3);
  EXPECT_EQ(members_of_short_loop(most + 3), most + 3);

  omp_set_dynamic(1);
  for (int threads = 1; threads < most + 4; ++threads) {
    int members = members_of_region(threads);
    EXPECT(members >= 1 && members <= threads && members <= most);
    members = members_of_long_loop(threads);
    EXPECT(members >= 1 && members <= threads && members <= most);
#if defined(__GNUC__) && !defined(__clang__)  // clang forms the team before it knows of the loop
    EXPECT_EQ(members_of_short_loop(threads), 1);
    EXPECT_EQ(members_of_sections(threads), 1);
#else
    EXPECT(members_of_sections(threads) <= most);
#endif
  }
  return verdict();
}
