// A robust mutex that becomes not recoverable while others come for it: all are told.
#include <pthread.h>

#include "expect.h"
#include "mutex_kinds.h"

static pthread_mutex_t mutex;
static pthread_barrier_t all_come;
static int dead, lost;

static void* lock_and_end(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  return unused;
}

// Whoever is told of the death gives it back as it is.
static void* come(void* delay) {
  pthread_barrier_wait(&all_come);
  for (volatile long i = 0; i < (long)delay; ++i) {
  }
  int result = pthread_mutex_lock(&mutex);
  if (result == EOWNERDEAD) {
    ++dead;
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  } else {
    EXPECT_EQ(result, ENOTRECOVERABLE);
    __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

// Two alone: of more, glibc's own lock leaves some asleep.
enum { COMERS = 2, ROUNDS = 400 };

CASE(who_comes_meanwhile_is_told) {
  FOR_EACH_MUTEX_KIND(kind) {
    if (kind->robust != PTHREAD_MUTEX_ROBUST) continue;
    dead = lost = 0;
    for (int round = 0; round < ROUNDS; ++round) {
      pthread_t owner, comers[COMERS];
      init_mutex(&mutex, kind, round % 2);
      EXPECT_EQ(pthread_create(&owner, NULL, lock_and_end, NULL), 0);
      EXPECT_EQ(pthread_join(owner, NULL), 0);
      EXPECT_EQ(pthread_barrier_init(&all_come, NULL, COMERS), 0);
      for (long i = 0; i < COMERS; ++i) {
        void* delay = (void*)(i * (round % 100));
        EXPECT_EQ(pthread_create(&comers[i], NULL, come, delay), 0);
      }
      for (int i = 0; i < COMERS; ++i) EXPECT_EQ(pthread_join(comers[i], NULL), 0);
      // Nor has any of them left it locked.
      EXPECT_EQ(pthread_mutex_lock(&mutex), ENOTRECOVERABLE);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
      EXPECT_EQ(pthread_barrier_destroy(&all_come), 0);
    }
    EXPECT_EQ(dead, ROUNDS);
    EXPECT_EQ(lost, ROUNDS * (COMERS - 1));
  }
}
