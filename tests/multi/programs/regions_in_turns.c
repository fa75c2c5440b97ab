// Regions of two whose members meet by spinning: opened in tasks ("tasks"), or by threads that take
// turns by a spin lock ("threads"), as OpenBLAS's callers do. Prints how many regions had members
// on several OS threads.
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { kThreads = 2, kTasks = 64, kRegions = 600 };

static atomic_int spread;

static void meet(atomic_int* arrived, int all) {
  atomic_fetch_add(arrived, 1);
  while (atomic_load(arrived) < all) {
  }
}

// About 0.2 ms.
static void compute(void) {
  volatile double x = 1;
  for (int i = 0; i < 100000; ++i) x = x * 1.0000001;
}

static void one_region(void) {
  atomic_int begun = 0, done = 0;
  pthread_t whose[2];
#pragma omp parallel num_threads(2)
  {
    whose[omp_get_thread_num()] = pthread_self();
    meet(&begun, 2);
    compute();
    meet(&done, 2);
  }
  if (!pthread_equal(whose[0], whose[1])) atomic_fetch_add(&spread, 1);
}

static void* take_turns(void* unused) {
  static atomic_int taken;
  static int regions;  // so far, of all threads: they end together, and leave no core to one
  for (int over = 0; !over;) {
    int expected = 0;
    while (!atomic_compare_exchange_strong(&taken, &expected, 1)) expected = 0;
    over = ++regions > kRegions;
    if (!over) one_region();
    atomic_store(&taken, 0);
  }
  return unused;
}

int main(int argc, char** argv) {
  omp_set_max_active_levels(2);
  if (argc == 2 && !strcmp(argv[1], "tasks")) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < kTasks; ++i) {
#pragma omp task
      one_region();
    }
  } else {
    pthread_t threads[kThreads];
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, take_turns, NULL);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  }
  printf("%d spread\n", atomic_load(&spread));
  return 0;
}
