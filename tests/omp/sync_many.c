// With ROOST_OMP_LEVELS=2, members of two levels of regions have OS threads of their own, whatever
// their number: they may wait for each other by what POSIX has, and by spinning.
// env: ROOST_OMP_LEVELS=2
// sanitized: address
// reason: it takes minutes with ThreadSanitizer
#include <pthread.h>
#include <sched.h>

#include "expect.h"

struct meeting {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_barrier_t barrier;
  int present, flag, turn;
};

// Called by all members: each waits for all, in several ways.
static void meet(struct meeting* m, int size, int me) {
  pthread_mutex_lock(&m->mutex);
  if (++m->present == size) pthread_cond_broadcast(&m->changed);
  while (m->present < size) pthread_cond_wait(&m->changed, &m->mutex);
  pthread_mutex_unlock(&m->mutex);
  pthread_barrier_wait(&m->barrier);
  // In the order of their numbers.
  while (__atomic_load_n(&m->turn, __ATOMIC_ACQUIRE) != me) sched_yield();
  __atomic_store_n(&m->turn, me + 1, __ATOMIC_RELEASE);
  pthread_barrier_wait(&m->barrier);
}

static void prepare(struct meeting* m, int size) {
  memset(m, 0, sizeof *m);
  pthread_mutex_init(&m->mutex, NULL);
  pthread_cond_init(&m->changed, NULL);
  pthread_barrier_init(&m->barrier, NULL, (unsigned)size);
}

static void flat(int size) {
  struct meeting meeting;
  prepare(&meeting, size);
#pragma omp parallel num_threads(size)
  meet(&meeting, size, omp_get_thread_num());
}

static void nested(int outer, int inner) {
  struct meeting all, own[8];
  prepare(&all, outer * inner);
  for (int i = 0; i < outer; ++i) prepare(&own[i], inner);
#pragma omp parallel num_threads(outer)
  {
    int me = omp_get_thread_num();
#pragma omp parallel num_threads(inner)
    {
      meet(&own[me], inner, omp_get_thread_num());
      meet(&all, outer * inner, me * inner + omp_get_thread_num());
    }
  }
}

int main(void) {
  allow_nesting();
  for (int round = 0; round < 3; ++round) {
    flat(2);
    flat(3);
    flat(8);
    flat(40);
    nested(2, 2);
    nested(3, 4);
    nested(4, 1);
    nested(8, 3);
  }
  return verdict();
}
