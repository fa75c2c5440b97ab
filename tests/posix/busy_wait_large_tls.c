// Threads that wait by spinning, more of them than cores, in a program whose thread-local storage,
// which libc puts on every thread's stack, is larger than the stacks of helpers are wont to be.
#include <pthread.h>
#include <stdatomic.h>

#include "expect.h"

enum { THREADS = 4, ROUNDS = 20 };

static _Thread_local char much[1 << 20];
static atomic_int turn;

static void* take_turns(void* number) {
  *(volatile char*)&much[sizeof much / 2] = 1;
  for (int i = 0; i < ROUNDS; ++i) {
    while (atomic_load(&turn) % THREADS != (int)(long)number) continue;
    atomic_fetch_add(&turn, 1);
  }
  return NULL;
}

CASE(spinning_threads_take_turns) {
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, take_turns, (void*)i), 0);
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(turn, THREADS * ROUNDS);
}
