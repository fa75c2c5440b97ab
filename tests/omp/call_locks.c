// A library that lets one call in at a time, as OpenBLAS for OpenMP does in gemm: whoever is in may
// give the lock back, by roost_give_call_lock_back(), and others come in; the library's count is
// right in the end, and no lock stays taken. Locks elsewhere are not touched.
// compilers: gcc
// reference: no
// flags: -ldl
#include <dlfcn.h>

#include "expect.h"

// What the library has: its locks lie side by side, in "its" part of memory.
static struct {
  omp_lock_t in, count;
  volatile int left;
} library;
static omp_lock_t own;  // the program's
static int inside, most;

static void (*locks_in)(const void*, const void*);
static void (*give_back)(const void*, const void*);

static void call(int gives_back) {
  omp_set_lock(&library.in);
  omp_set_lock(&library.count);
  library.left--;
  if (library.left != 0) omp_unset_lock(&library.in);
  omp_unset_lock(&library.count);

  if (gives_back) give_back(&library, &library + 1);
  int now = add(&inside, 1);
  if (now > look(&most)) __atomic_store_n(&most, now, __ATOMIC_RELAXED);
  usleep(100);
  add(&inside, -1);

  omp_set_lock(&library.count);
  library.left++;
  if (library.left == 1) omp_unset_lock(&library.in);
  omp_unset_lock(&library.count);
}

static int calls_at_once(int gives_back) {
  most = 0;
#pragma omp parallel num_threads(8)
  for (int i = 0; i < 50; ++i) call(gives_back);
  EXPECT_EQ(library.left, 1);
  EXPECT(omp_test_lock(&library.in));
  omp_unset_lock(&library.in);
  EXPECT(omp_test_lock(&library.count));
  omp_unset_lock(&library.count);
  return most;
}

int main(void) {
  locks_in = (void (*)(const void*, const void*))dlsym(RTLD_DEFAULT, "roost_call_locks_in");
  give_back = (void (*)(const void*, const void*))dlsym(RTLD_DEFAULT, "roost_give_call_lock_back");
  EXPECT(locks_in && give_back);
  omp_init_lock(&library.in);
  omp_init_lock(&library.count);
  omp_init_lock(&own);
  library.left = 1;

  EXPECT_EQ(calls_at_once(1), 1);  // it is not known yet
  locks_in(&library, &library + 1);
  EXPECT_EQ(calls_at_once(0), 1);
  EXPECT(calls_at_once(1) > 1);

  omp_set_lock(&own);
  omp_set_lock(&library.in);
  give_back(&library, &library + 1);
  EXPECT(omp_test_lock(&library.in));  // it was given back
  omp_unset_lock(&library.in);
  give_back(&library, &library + 1);
  EXPECT(!omp_test_lock(&own));
  omp_unset_lock(&own);
  return verdict();
}
