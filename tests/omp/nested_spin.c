// limit: 120
//
// Nested regions whose members wait for each other by spinning. Without Roost, which sees that,
// they may have one member once it was noticed, as all nested regions have elsewhere; as many as
// they ask for under Roost, and if the program says that it wants nested regions.
#include "expect.h"

struct meeting {
  int arrived;
  int sense;
};

static void meet(struct meeting* m, int size) {
  int sense = __atomic_load_n(&m->sense, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&m->arrived, 1, __ATOMIC_ACQ_REL) == size) {
    m->arrived = 0;
    __atomic_store_n(&m->sense, !sense, __ATOMIC_RELEASE);
  } else {
    while (__atomic_load_n(&m->sense, __ATOMIC_ACQUIRE) == sense) continue;
  }
}

static int inner_size(void) {
  struct meeting m = {0, 0};
  int size = 0;
#pragma omp parallel num_threads(2) shared(m, size)
  {
    int own = omp_get_num_threads();
    for (int i = 0; i < 10; ++i) meet(&m, own);
    if (omp_get_thread_num() == 0) size = own;
  }
  return size;
}

// Regions of two that have been run by both members of an outer one until one had a single member,
// each has run `most`, or so many seconds are over.
static int until_serial(int most, double seconds) {
  int serial = 0, count = 0;
  double end = omp_get_wtime() + seconds;
#pragma omp parallel num_threads(2)
  for (int i = 0; i < most && !look(&serial) && omp_get_wtime() < end; ++i) {
    int size = inner_size();
    EXPECT(size == 1 || size == 2);
    add(size == 1 ? &serial : &count, 1);
  }
  return serial ? -count : count;
}

int main(void) {
  int count = until_serial(50, 2);
  if (getenv("ROOST_INSTANCE")) EXPECT_EQ(count, 100);
  omp_set_max_active_levels(2);
  EXPECT_EQ(until_serial(5, 60), 10);
  return verdict();
}
