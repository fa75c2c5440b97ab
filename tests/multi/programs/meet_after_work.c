// Threads that compute for a while, all at once, and then meet in a barrier that spins: by then all
// of them may run without a core, and nobody be READY.
//
//   meet_after_work THREADS MILLISECONDS MEETINGS    (of work, on a core of 3 GHz)
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { kStepsPerMillisecond = 700000 };  // about

static int threads, meetings;
static long work_steps;
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

// Not by the clock: a loop that looks at it waits, as far as Roost can see.
static void compute(void) {
  unsigned long value = 1;
  for (long i = 0; i < work_steps; ++i) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(value));
  }
}

static void* work(void* nothing) {
  compute();
  for (int i = 0; i < meetings; ++i) meet();
  return nothing;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  threads = atoi(argv[1]);
  work_steps = atol(argv[2]) * kStepsPerMillisecond;
  meetings = atoi(argv[3]);
  pthread_t all[64];
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&all[i], NULL, work, NULL) != 0) return 1;
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  printf("%d meetings\n", atomic_load(&round_now));
  return 0;
}
