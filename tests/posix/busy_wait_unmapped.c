// Threads that wait by looking at a word are told by a signal to leave: the handler says that they
// do, and jumps. Then the word's page is unmapped, and what reads it ends the program: nobody may
// look at it for their sake any more.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "expect.h"

enum { WAITERS = 4, ROUNDS = 25 };

static volatile int begun, left;
static volatile long* word;
static int yields;
static char left_by_jump;  // what those have for a result
static __thread sigjmp_buf out;

static void leave(int signal) {
  (void)signal;
  __atomic_fetch_add(&left, 1, __ATOMIC_SEQ_CST);
  siglongjmp(out, 1);
}

static void* wait_for_word(void* unused) {
  (void)unused;
  if (sigsetjmp(out, 1)) return &left_by_jump;
  __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
  if (yields) {
    while (*word == 0) sched_yield();
  } else {
    while (*word == 0) continue;
  }
  return NULL;
}

static void tell_them_to_leave(int they_yield) {
  yields = they_yield;
  int jumped = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begun = left = 0;
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; ++i) pthread_create(&threads[i], NULL, wait_for_word, NULL);
    while (begun < WAITERS) sched_yield();
    for (volatile int i = 0; i < 5000000; ++i) continue;
    for (int i = 0; i < WAITERS; ++i) pthread_kill(threads[i], SIGUSR1);
    while (left < WAITERS) sched_yield();
    munmap((void*)word, 4096);
    sched_yield();
    for (int i = 0; i < WAITERS; ++i) {
      void* result;
      pthread_join(threads[i], &result);
      jumped += result == &left_by_jump;
    }
  }
  EXPECT_EQ(jumped, ROUNDS * WAITERS);
}

CASE(a_word_that_yielding_threads_have_left_may_go) {
  signal(SIGUSR1, leave);
  tell_them_to_leave(1);
}

CASE(a_word_that_spinning_threads_have_left_may_go) {
  signal(SIGUSR1, leave);
  tell_them_to_leave(0);
}
