// Threads that compute for a while, all at once, and then meet in a barrier that spins: by then all
// of them may run without a core, and nobody be READY.
//
//   meet_after_work THREADS MILLISECONDS MEETINGS
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int threads, meetings;
static long work_ns;
static atomic_int arrived, round_now;

static void meet(void) {
  int round = atomic_load(&round_now);
  if (atomic_fetch_add(&arrived, 1) == threads - 1) {
    atomic_store(&arrived, 0);
    atomic_store(&round_now, round + 1);
    return;
  }
  while (atomic_load_explicit(&round_now, memory_order_acquire) == round) __builtin_ia32_pause();
}

static long own_time_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void* work(void* nothing) {
  while (own_time_ns() < work_ns) {
  }
  for (int i = 0; i < meetings; ++i) meet();
  return nothing;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  threads = atoi(argv[1]);
  work_ns = atol(argv[2]) * 1000000;
  meetings = atoi(argv[3]);
  pthread_t all[64];
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&all[i], NULL, work, NULL) != 0) return 1;
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  printf("%d meetings\n", atomic_load(&round_now));
  return 0;
}
