// Each member has a stack of its own: large local arrays keep what was written across barriers, and
// do not overlap, at all levels. A quarter of a MiB must fit in any; so must 2 MiB where an OS
// thread has room for them, also when their low end is touched first.
#include <sys/resource.h>

#include "expect.h"

enum { BYTES = 192 * 1024, MOST = 64, LARGE = 2 << 20 };

struct range {
  char *low, *high;
};

static void fill(char* bytes, int value) {
  memset(bytes, value, BYTES);
  __asm__ volatile("" ::"r"(bytes) : "memory");
}
static void look_at(const char* bytes, int value) {
  int wrong = 0;
  for (int i = 0; i < BYTES; i += 64) wrong += bytes[i] != (char)value;
  EXPECT_EQ(wrong, 0);
}

static void check_apart(struct range* ranges, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j)
      EXPECT(ranges[i].high <= ranges[j].low || ranges[j].high <= ranges[i].low);
}

static void __attribute__((noinline)) flat(int n, int mark) {
  struct range ranges[MOST];
#pragma omp parallel num_threads(n)
  {
    char bytes[BYTES];
    int me = omp_get_thread_num();
    for (int round = 0; round < 3; ++round) {
      fill(bytes, mark + me + round);
      ranges[me] = (struct range){bytes, bytes + BYTES};
#pragma omp barrier
      look_at(bytes, mark + me + round);
      if (me == 0) check_apart(ranges, n);
#pragma omp barrier
    }
  }
}

static void nested(int outer, int inner) {
  struct range ranges[MOST];
#pragma omp parallel num_threads(outer)
  {
    char bytes[BYTES];
    int me = omp_get_thread_num();
    fill(bytes, me);
#pragma omp parallel num_threads(inner)
    {
      char own[BYTES];
      int index = me * inner + omp_get_thread_num();
      fill(own, 100 + index);
      ranges[index] = (struct range){own, own + BYTES};
#pragma omp barrier
      look_at(own, 100 + index);
#pragma omp barrier
      look_at(own, 100 + index);
    }
#pragma omp barrier
    look_at(bytes, me);
    if (me == 0) {
      // Those of one inner team were alive at the same time.
      for (int i = 0; i < outer; ++i) check_apart(ranges + i * inner, inner);
    }
  }
}

// The mean of a large array that is written upwards, while the others of the team write theirs.
static double __attribute__((noinline)) mean_of_large(int value) {
  enum { LENGTH = LARGE / sizeof(double) };
  double numbers[LENGTH];
  numbers[0] = value;
  __asm__ volatile("" ::"r"(numbers) : "memory");
  for (int i = 1; i < LENGTH; ++i) numbers[i] = value;
#pragma omp barrier
  __asm__ volatile("" ::"r"(numbers) : "memory");
  double sum = 0;
  for (int i = 0; i < LENGTH; ++i) sum += numbers[i];
  return sum / LENGTH;
}

static void large(int n) {
  double sum = 0;
#pragma omp parallel num_threads(n) reduction(+ : sum)
  {
    int value = omp_get_thread_num() + 1;
    double mean = mean_of_large(value);
    EXPECT(mean == value);
    sum += mean;
  }
  EXPECT_EQ(sum, n * (n + 1) / 2);
}

static int large_ones_fit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= 2 * LARGE;
}

int main(void) {
  allow_nesting();
  for (int round = 0; round < 3; ++round) {
    flat(1, 1);
    flat(2, 2);
    flat(7, 3);
    flat(32, 4);
    nested(2, 2);
    nested(3, 5);
    nested(4, 8);
  }
  for (int round = 0; round < 3 && large_ones_fit(); ++round) {
    large(4);
    large(7);
    large(omp_get_num_procs() + 2);
  }
  return verdict();
}
