// Regions of many sizes, from 1 to more than there are cores: each member runs once, the master
// stays where it is, and the default size is what OMP_NUM_THREADS says.
#include <pthread.h>

#include "expect.h"

enum { MOST = 200 };

static void region(int size) {
  int calls[MOST] = {0};
  int seen_size = 0;
  pthread_t master = pthread_self();
  char* here = (char*)__builtin_frame_address(0);
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
    EXPECT(me >= 0 && me < size);
    EXPECT_EQ(omp_get_num_threads(), size);
    EXPECT_EQ(omp_in_parallel(), size > 1);
    if (me >= 0 && me < size) add(&calls[me], 1);
    if (me == 0) {
      seen_size = omp_get_num_threads();
      EXPECT(pthread_equal(pthread_self(), master));
      char* there = (char*)__builtin_frame_address(0);
      EXPECT(there <= here && here - there < 65536);
    }
  }
  EXPECT_EQ(seen_size, size);
  for (int i = 0; i < MOST; ++i) EXPECT_EQ(calls[i], i < size);
  EXPECT_EQ(omp_get_thread_num(), 0);
  EXPECT_EQ(omp_get_num_threads(), 1);
  EXPECT(!omp_in_parallel());
}

static void default_size(void) {
  int wanted = atoi(getenv("OMP_NUM_THREADS") ? getenv("OMP_NUM_THREADS") : "0");
  int members = 0;
#pragma omp parallel
  {
    add(&members, 1);
    if (wanted) EXPECT_EQ(omp_get_num_threads(), wanted);
  }
  if (wanted) EXPECT_EQ(members, wanted);
}

static void serial_by_condition(int condition) {
  int members = 0;
#pragma omp parallel if (condition) num_threads(4)
  {
    add(&members, 1);
    EXPECT_EQ(omp_get_level(), 1);
    EXPECT_EQ(omp_get_active_level(), condition ? 1 : 0);
  }
  EXPECT_EQ(members, condition ? 4 : 1);
}

int main(void) {
  allow_nesting();
  default_size();
  for (int round = 0; round < 3; ++round)
    for (int size = 1; size <= 20; ++size) region(size);
  static const int sizes[] = {31, 32, 33, 63, 64, 65, 100, 128, 129, 200};
  for (int i = 0; i < 10; ++i) region(sizes[i]);
  for (int i = 9; i >= 0; --i) region(sizes[i]);
  for (int round = 0; round < 100; ++round) region(round % 5 + 1);
  for (int round = 0; round < 10; ++round) serial_by_condition(round % 2);
  return verdict();
}
