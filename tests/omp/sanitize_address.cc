// AddressSanitizer knows light stacks: what an exception leaves behind on one does not count as
// poisoned for those who use that memory next, and local variables are where they should be.
// compilers: gcc
// flags: -fsanitize=address
// env: ASAN_OPTIONS=detect_leaks=0
// ours: named
// threads: 2 7
// reference: gcc
// reason: a sanitizer's own library has to be the first
// sanitized: no
#include "expect.h"

static const int kBytes = 2000;

__attribute__((noinline)) static int throw_from_below(int depth) {
  volatile char bytes[64];  // with poisoned memory around it
  bytes[depth % 64] = 1;
  if (depth == 0) throw 7;
  return throw_from_below(depth - 1) + bytes[0];
}

// Code that is not checked itself uses the same memory and has the checked memset() look at it.
__attribute__((noinline, no_sanitize("address"))) static void use_again() {
  char bytes[kBytes];
  memset(bytes, 1, sizeof bytes);
  __asm__ volatile("" ::"r"(bytes) : "memory");
}

static int catch_one() {
  try {
    return throw_from_below(20);
  } catch (int number) {
    return number;
  }
}

int main() {
  allow_nesting();
  for (int round = 0; round < 20; ++round) {
    int caught = 0, inner = 0;
#pragma omp parallel num_threads(9)
    {
      char mine[kBytes];
      memset(mine, omp_get_thread_num(), sizeof mine);
#pragma omp barrier
      if (catch_one() == 7) add(&caught, 1);
      use_again();
#pragma omp barrier
#pragma omp parallel num_threads(5)
      {
        if (catch_one() == 7) add(&inner, 1);
#pragma omp barrier
        use_again();
        EXPECT_EQ(mine[kBytes - 1], mine[0]);
      }
      EXPECT_EQ(mine[0], omp_get_thread_num());
    }
    EXPECT_EQ(caught, 9);
    EXPECT_EQ(inner, 45);
  }
  return verdict();
}
