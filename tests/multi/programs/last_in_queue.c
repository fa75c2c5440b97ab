// Three threads take turns at yielding; one ends, and the others compute, each on a core of its
// own.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static pthread_barrier_t together;
static atomic_bool left;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void* leave(void* nothing) {
  pthread_barrier_wait(&together);
  for (int i = 0; i < 1000; ++i) sched_yield();
  atomic_store(&left, 1);
  return nothing;
}

static void* compute(void* nothing) {
  pthread_barrier_wait(&together);
  while (!atomic_load(&left)) sched_yield();
  for (double end = now() + 0.3; now() < end;) continue;
  return nothing;
}

int main(void) {
  pthread_barrier_init(&together, NULL, 3);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, i ? compute : leave, NULL);
  for (int i = 2; i >= 0; --i) pthread_join(threads[i], NULL);  // so that main waits the while
  return 0;
}
