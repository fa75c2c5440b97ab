// Spin locks, also with many more threads than cores and an owner that sleeps; and sched_yield, by
// which a thread that polls lets the one go on that it polls for.
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "expect.h"

static pthread_spinlock_t spin;
static long counter;
static int inside;

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void* count(void* rests) {
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(pthread_spin_lock(&spin), 0);
    EXPECT_EQ(inside++, 0);
    ++counter;
    if (rests && i % 50 == 0) nanosleep(&(struct timespec){0, 1000}, NULL);
    --inside;
    EXPECT_EQ(pthread_spin_unlock(&spin), 0);
    if (i % 16 == 0) sched_yield();
  }
  return NULL;
}

CASE(one_thread_at_a_time) {
  for (int rests = 0; rests < 2; ++rests) {
    pthread_t threads[8];
    counter = 0;
    EXPECT_EQ(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
    for (int i = 0; i < 8; ++i) threads[i] = start(count, rests ? &counter : NULL);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT_EQ(counter, 4000);
    EXPECT_EQ(pthread_spin_destroy(&spin), 0);
  }
}

static void* find_busy(void* unused) {
  EXPECT_EQ(pthread_spin_trylock(&spin), EBUSY);
  return unused;
}

static void* find_free(void* unused) {
  EXPECT_EQ(pthread_spin_trylock(&spin), 0);
  EXPECT_EQ(pthread_spin_unlock(&spin), 0);
  return unused;
}

CASE(trylock_finds_it_busy_or_takes_it) {
  EXPECT_EQ(pthread_spin_init(&spin, PTHREAD_PROCESS_SHARED), 0);
  errno = 4711;
  EXPECT_EQ(pthread_join(start(find_free, NULL), NULL), 0);
  EXPECT_EQ(pthread_spin_lock(&spin), 0);
  EXPECT_EQ(pthread_spin_trylock(&spin), EBUSY);
  EXPECT_EQ(pthread_join(start(find_busy, NULL), NULL), 0);
  EXPECT_EQ(pthread_spin_unlock(&spin), 0);
  EXPECT_EQ(pthread_join(start(find_free, NULL), NULL), 0);
  EXPECT_EQ(errno, 4711);
  EXPECT_EQ(pthread_spin_destroy(&spin), 0);
}

enum { RING = 12, LAPS = 200 };
static int token;

static void* poll_for_token(void* number) {
  int me = (int)(long)number;
  for (int lap = 0; lap < LAPS; ++lap) {
    while (__atomic_load_n(&token, __ATOMIC_ACQUIRE) != lap * RING + me) {
      EXPECT_EQ(sched_yield(), 0);
    }
    __atomic_add_fetch(&token, 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

CASE(threads_that_poll_and_yield_make_progress) {
  pthread_t threads[RING];
  for (long i = 0; i < RING; ++i) threads[i] = start(poll_for_token, (void*)i);
  for (int i = 0; i < RING; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(token, RING * LAPS);
}

CASE(yield_leaves_errno_alone) {
  errno = 4711;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sched_yield(), 0);
  EXPECT_EQ(errno, 4711);
}
