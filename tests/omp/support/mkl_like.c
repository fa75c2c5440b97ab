// A library as MKL's LAPACK is: members of its regions look for their next piece of work under a
// lock that they try to take, without a pause, by functions with the names of MKL's, which it calls
// through the procedure linkage table.
#include <omp.h>

__attribute__((visibility("default"), noinline)) int mkl_serv_trylock(int* lock) {
  int none = 0;
  return __atomic_compare_exchange_n(lock, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"), noinline)) void mkl_serv_unlock(int* lock) {
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static int look_under(int* lock) {
  if (!mkl_serv_trylock(lock)) return 0;
  mkl_serv_unlock(lock);
  return 1;
}

// Pieces of work that the members do in turn; how many were done. Each looks in a list that is
// empty, too.
int in_turns(int members, int pieces) {
  static int lock, other;
  static volatile int done;
  done = 0;
#pragma omp parallel num_threads(members)
  {
    int me = omp_get_thread_num(), size = omp_get_num_threads(), left = 1;
#pragma omp barrier
    while (left) {
      look_under(&other);
      if (!mkl_serv_trylock(&lock)) continue;
      left = done < pieces;
      if (left && done % size == me) ++done;
      mkl_serv_unlock(&lock);
    }
  }
  return done;
}

// While the dynamic linker loads the library, under its lock.
static int as_it_was_loaded;
__attribute__((constructor)) static void load(void) { as_it_was_loaded = in_turns(5, 20); }
int done_as_it_was_loaded(void) { return as_it_was_loaded; }
