// Condition variables: signals and broadcasts reach those who wait, nobody is forgotten, and the
// object may go away as soon as everybody has been woken.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_cond_t other = PTHREAD_COND_INITIALIZER;

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void join(pthread_t thread) { EXPECT_EQ(pthread_join(thread, NULL), 0); }

static int waiting, permits, passed;

static void reset(void) { waiting = permits = passed = 0; }

static void* wait_for_permit(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  ++waiting;
  EXPECT_EQ(pthread_cond_signal(&other), 0);
  while (permits == 0) EXPECT_EQ(pthread_cond_wait(&cond, &mutex), 0);
  --permits;
  ++passed;
  EXPECT_EQ(pthread_cond_signal(&other), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return unused;
}

// Returns with the mutex held and `count` threads waiting for a permit.
static void lock_when_waiting(int count) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  while (waiting < count) EXPECT_EQ(pthread_cond_wait(&other, &mutex), 0);
}

enum { MANY = 24 };

CASE(as_many_signals_as_waiters_wake_all) {
  for (int held = 0; held < 2; ++held) {
    pthread_t threads[MANY];
    reset();
    for (int i = 0; i < MANY; ++i) threads[i] = start(wait_for_permit, NULL);
    lock_when_waiting(MANY);
    permits = MANY;
    if (!held) EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < MANY; ++i) EXPECT_EQ(pthread_cond_signal(&cond), 0);
    if (held) EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < MANY; ++i) join(threads[i]);
    EXPECT_EQ(passed, MANY);
  }
}

CASE(a_broadcast_wakes_all) {
  for (int round = 0; round < 10; ++round) {
    pthread_t threads[MANY];
    reset();
    for (int i = 0; i < MANY; ++i) threads[i] = start(wait_for_permit, NULL);
    lock_when_waiting(MANY);
    permits = MANY;
    EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < MANY; ++i) join(threads[i]);
    EXPECT_EQ(passed, MANY);
  }
}

CASE(signals_one_at_a_time_wake_one_each) {
  pthread_t threads[MANY];
  reset();
  for (int i = 0; i < MANY; ++i) threads[i] = start(wait_for_permit, NULL);
  lock_when_waiting(MANY);
  for (int i = 1; i <= MANY; ++i) {
    permits = 1;
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    while (passed < i) EXPECT_EQ(pthread_cond_wait(&other, &mutex), 0);
    EXPECT_EQ(permits, 0);
  }
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  for (int i = 0; i < MANY; ++i) join(threads[i]);
}

CASE(signals_without_waiters_are_not_remembered) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
    struct timespec at = soon(CLOCK_REALTIME);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &at), ETIMEDOUT);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
}

enum { TURNS = 3000 };
static int turn;

static void* take_turns(void* me) {
  for (int i = 0; i < TURNS; ++i) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    while (turn != (me != NULL)) EXPECT_EQ(pthread_cond_wait(&cond, &mutex), 0);
    turn = !turn;
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  return NULL;
}

CASE(two_take_turns_with_signals_alone) {
  pthread_t a = start(take_turns, NULL), b = start(take_turns, &turn);
  join(a);
  join(b);
}

enum { SLOTS = 3, ITEMS = 2000, WORKERS = 4 };
static int slots[SLOTS], filled;
static long sum;

static void* produce(void* unused) {
  for (int i = 1; i <= ITEMS; ++i) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    while (filled == SLOTS) EXPECT_EQ(pthread_cond_wait(&other, &mutex), 0);
    slots[filled++] = i;
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_cond_signal(&cond), 0);  // without the mutex
  }
  return unused;
}

static void* consume(void* unused) {
  for (int i = 1; i <= ITEMS; ++i) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    while (filled == 0) EXPECT_EQ(pthread_cond_wait(&cond, &mutex), 0);
    sum += slots[--filled];
    EXPECT_EQ(pthread_cond_signal(&other), 0);  // with it
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  return unused;
}

CASE(what_is_produced_is_consumed) {
  pthread_t threads[2 * WORKERS];
  for (int i = 0; i < 2 * WORKERS; ++i) threads[i] = start(i % 2 ? produce : consume, NULL);
  for (int i = 0; i < 2 * WORKERS; ++i) join(threads[i]);
  EXPECT_EQ(sum, (long)WORKERS * ITEMS * (ITEMS + 1) / 2);
  EXPECT_EQ(filled, 0);
}

static int woken[MANY], stop;

static void* wait_again_and_again(void* number) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  ++waiting;
  EXPECT_EQ(pthread_cond_signal(&other), 0);
  for (;;) {
    while (permits == 0 && !stop) EXPECT_EQ(pthread_cond_wait(&cond, &mutex), 0);
    if (stop) break;
    --permits;
    ++woken[(intptr_t)number];
    ++passed;
    EXPECT_EQ(pthread_cond_signal(&other), 0);
  }
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return NULL;
}

CASE(nobody_starves_among_those_who_wait_again_at_once) {
  pthread_t threads[MANY];
  reset();
  for (intptr_t i = 0; i < MANY; ++i) threads[i] = start(wait_again_and_again, (void*)i);
  lock_when_waiting(MANY);
  for (int i = 1; i <= 50 * MANY; ++i) {
    permits = 1;
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    while (passed < i) EXPECT_EQ(pthread_cond_wait(&other, &mutex), 0);
  }
  stop = 1;
  EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  for (int i = 0; i < MANY; ++i) join(threads[i]);
  for (int i = 0; i < MANY; ++i) EXPECT(woken[i] > 0);
}

CASE(waiting_without_the_mutex_is_refused) {
  pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_EQ(pthread_cond_wait(&cond, &checking), EPERM);
  EXPECT_EQ(pthread_cond_timedwait(&cond, &checking, &at), EPERM);
  EXPECT_EQ(pthread_mutex_lock(&checking), 0);
  EXPECT_EQ(pthread_mutex_unlock(&checking), 0);
}

static pthread_mutex_t any_kind;

static void* wait_with_it(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&any_kind), 0);
  ++waiting;
  while (permits == 0) EXPECT_EQ(pthread_cond_wait(&cond, &any_kind), 0);
  EXPECT_EQ(pthread_mutex_unlock(&any_kind), 0);
  return unused;
}

CASE(mutexes_of_every_type_can_be_waited_with) {
  const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE,
                       PTHREAD_MUTEX_ADAPTIVE_NP};
  for (int i = 0; i < 20; ++i) {
    pthread_mutexattr_t attr;
    reset();
    EXPECT_EQ(pthread_mutexattr_init(&attr), 0);
    EXPECT_EQ(pthread_mutexattr_settype(&attr, types[i % 4]), 0);
    EXPECT_EQ(pthread_mutex_init(&any_kind, &attr), 0);
    EXPECT_EQ(pthread_mutexattr_destroy(&attr), 0);
    pthread_t thread = start(wait_with_it, NULL);
    EXPECT_EQ(pthread_mutex_lock(&any_kind), 0);
    while (!waiting) {
      EXPECT_EQ(pthread_mutex_unlock(&any_kind), 0);
      sched_yield();
      EXPECT_EQ(pthread_mutex_lock(&any_kind), 0);
    }
    permits = 1;
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    EXPECT_EQ(pthread_mutex_unlock(&any_kind), 0);
    join(thread);
    EXPECT_EQ(pthread_mutex_destroy(&any_kind), 0);
  }
}

static pthread_cond_t* passing;  // a page of its own
static int n_woken;

static void* wait_once(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  ++waiting;
  EXPECT_EQ(pthread_cond_signal(&other), 0);
  if (!permits) EXPECT_EQ(pthread_cond_wait(passing, &mutex), 0);
  ++n_woken;
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return unused;
}

CASE(it_may_be_destroyed_and_freed_once_all_are_woken) {
  for (int round = 0; round < 50; ++round) {
    pthread_t threads[6];
    reset();
    passing = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(passing != MAP_FAILED);
    EXPECT_EQ(pthread_cond_init(passing, NULL), 0);
    for (int i = 0; i < 6; ++i) threads[i] = start(wait_once, NULL);
    lock_when_waiting(6);
    permits = 1;
    EXPECT_EQ(pthread_cond_broadcast(passing), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_cond_destroy(passing), 0);
    EXPECT_EQ(munmap(passing, 4096), 0);
    for (int i = 0; i < 6; ++i) join(threads[i]);
  }
  EXPECT_EQ(n_woken, 300);
}

CASE(errno_is_left_alone) {
  errno = 4711;
  reset();
  pthread_t thread = start(wait_for_permit, NULL);
  lock_when_waiting(1);
  permits = 1;
  EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  join(thread);
  struct timespec at = soon(CLOCK_REALTIME);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &at), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(errno, 4711);
}
