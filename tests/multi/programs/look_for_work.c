// A thread computes while others of its pool look for work under a lock, yielding in between:
// look_for_work MILLISECONDS THREADS.
//
// Prints "N ms": the CPU time that those who looked have used while the one that computes used as
// many as it is told.
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool over;

static long milliseconds(clockid_t clock) {
  struct timespec time;
  if (clock_gettime(clock, &time) != 0) abort();
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void* look(void* unused) {
  for (;;) {
    pthread_mutex_lock(&lock);
    bool done = over;
    pthread_mutex_unlock(&lock);
    if (done) return unused;
    sched_yield();
  }
}

int main(int argc, char** argv) {
  enum { kMostThreads = 16 };
  if (argc != 3 || atoi(argv[2]) > kMostThreads) return 2;
  long duration = atol(argv[1]);
  int n = atoi(argv[2]);
  pthread_t threads[kMostThreads];
  for (int i = 0; i < n; ++i)
    if (pthread_create(&threads[i], NULL, look, NULL) != 0) return 1;
  long own_before = milliseconds(CLOCK_THREAD_CPUTIME_ID);
  long all_before = milliseconds(CLOCK_PROCESS_CPUTIME_ID), own;
  do {
    for (volatile int i = 0; i < 1000000; ++i) {
    }
    own = milliseconds(CLOCK_THREAD_CPUTIME_ID) - own_before;
  } while (own < duration);
  printf("%ld ms\n", milliseconds(CLOCK_PROCESS_CPUTIME_ID) - all_before - own);
  pthread_mutex_lock(&lock);
  over = true;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < n; ++i) pthread_join(threads[i], NULL);
  return 0;
}
