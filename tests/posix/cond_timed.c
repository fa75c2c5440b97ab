// Timed waits on condition variables: both clocks by attribute and by call, times that have passed
// or are none, and that a waiter who gives up leaves its signal to the others.
#include <pthread.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond;

// How a timed wait is called: on which clock, and who says so.
static const struct way {
  clockid_t of_attribute, of_call;
  int by_call;
} ways[] = {
    {CLOCK_REALTIME, CLOCK_REALTIME, 0},
    {CLOCK_MONOTONIC, CLOCK_MONOTONIC, 0},
    {CLOCK_REALTIME, CLOCK_MONOTONIC, 1},
    {CLOCK_MONOTONIC, CLOCK_REALTIME, 1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static int wait_until(const struct way* way, struct timespec at) {
  return way->by_call ? pthread_cond_clockwait(&cond, &mutex, way->of_call, &at)
                      : pthread_cond_timedwait(&cond, &mutex, &at);
}

static void init(const struct way* way) {
  pthread_condattr_t attr;
  EXPECT_EQ(pthread_condattr_init(&attr), 0);
  EXPECT_EQ(pthread_condattr_setclock(&attr, way->of_attribute), 0);
  EXPECT_EQ(pthread_cond_init(&cond, &attr), 0);
  EXPECT_EQ(pthread_condattr_destroy(&attr), 0);
}

static void lock(void) { EXPECT_EQ(pthread_mutex_lock(&mutex), 0); }
static void unlock(void) { EXPECT_EQ(pthread_mutex_unlock(&mutex), 0); }

static pthread_t start(void* (*body)(void*), const struct way* way) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, (void*)way), 0);
  return thread;
}

CASE(waits_end_at_their_time_and_not_before) {
  for (int w = 0; w < WAYS; ++w) {
    init(&ways[w]);
    for (int i = 0; i < 5; ++i) {
      struct timespec at = soon(ways[w].of_call);
      lock();
      EXPECT_EQ(wait_until(&ways[w], at), ETIMEDOUT);
      EXPECT(has_passed(ways[w].of_call, at));
      unlock();  // it would be an error not to own it
    }
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  }
}

CASE(times_that_have_passed_time_out_at_once) {
  for (int w = 0; w < WAYS; ++w) {
    init(&ways[w]);
    lock();
    EXPECT_EQ(wait_until(&ways[w], in_ms(ways[w].of_call, -5)), ETIMEDOUT);
    EXPECT_EQ(wait_until(&ways[w], (struct timespec){0, 0}), ETIMEDOUT);
    EXPECT_EQ(wait_until(&ways[w], (struct timespec){-1, 0}), ETIMEDOUT);
    unlock();
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  }
}

CASE(malformed_times_are_refused_and_the_mutex_kept) {
  for (int w = 0; w < WAYS; ++w) {
    init(&ways[w]);
    lock();
    struct timespec at = malformed(ways[w].of_call);
    EXPECT_EQ(wait_until(&ways[w], at), EINVAL);
    at.tv_nsec = -1;
    EXPECT_EQ(wait_until(&ways[w], at), EINVAL);
    unlock();
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  }
}

CASE(clocks_that_cannot_be_waited_on_are_refused) {
  struct timespec at = far_off(CLOCK_REALTIME);
  pthread_condattr_t attr;
  clockid_t clock;
  EXPECT_EQ(pthread_condattr_init(&attr), 0);
  EXPECT_EQ(pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
  EXPECT_EQ(pthread_condattr_setclock(&attr, CLOCK_THREAD_CPUTIME_ID), EINVAL);
  EXPECT_EQ(pthread_condattr_getclock(&attr, &clock), 0);
  EXPECT_EQ(clock, CLOCK_REALTIME);
  EXPECT_EQ(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), 0);
  EXPECT_EQ(pthread_condattr_getclock(&attr, &clock), 0);
  EXPECT_EQ(clock, CLOCK_MONOTONIC);
  EXPECT_EQ(pthread_condattr_setpshared(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_condattr_destroy(&attr), 0);
  init(&ways[0]);
  lock();
  EXPECT_EQ(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
  EXPECT_EQ(pthread_cond_clockwait(&cond, &mutex, 4711, &at), EINVAL);
  unlock();
  EXPECT_EQ(pthread_cond_destroy(&cond), 0);
}

static int waiting, permits;
static pid_t blocker;

static void* wait_long(void* way) {
  clockid_t clock = ((const struct way*)way)->of_call;
  lock();
  about_to_block(&blocker);
  while (!permits) EXPECT_EQ(wait_until(way, far_off(clock)), 0);
  --permits;
  unlock();
  return NULL;
}

CASE(a_signal_before_the_time_is_no_timeout) {
  for (int i = 0; i < 5 * WAYS; ++i) {
    init(&ways[i % WAYS]);
    pthread_t thread = start(wait_long, &ways[i % WAYS]);
    wait_until_blocked(&blocker);
    lock();
    permits = 1;
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    unlock();
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT_EQ(permits, 0);
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  }
}

static struct timespec due;
static int returned;

static void* time_out_while_held(void* way) {
  lock();
  about_to_block(&blocker);
  due = soon(((const struct way*)way)->of_call);
  EXPECT_EQ(wait_until(way, due), ETIMEDOUT);
  returned = 1;
  unlock();
  return NULL;
}

CASE(a_timed_out_waiter_returns_with_the_mutex) {
  for (int w = 0; w < WAYS; ++w) {
    init(&ways[w]);
    returned = 0;
    pthread_t thread = start(time_out_while_held, &ways[w]);
    wait_until_blocked(&blocker);
    lock();
    while (!has_passed(ways[w].of_call, due)) sched_yield();
    // Its time is over, but it must have the mutex to return, which we hold.
    int seen = returned;
    for (int i = 0; i < 20; ++i) sched_yield();
    EXPECT_EQ(returned, seen);
    unlock();
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  }
}

static int given_up, result_of_impatient;

static void* wait_shortly(void* way) {
  lock();
  ++waiting;
  result_of_impatient = wait_until(way, in_ms(((const struct way*)way)->of_call, 1));
  given_up = 1;
  unlock();
  return NULL;
}

static void* wait_for_signal(void* way) {
  lock();
  ++waiting;
  EXPECT_EQ(wait_until(way, far_off(((const struct way*)way)->of_call)), 0);
  unlock();
  return NULL;
}

CASE(a_waiter_that_times_out_takes_no_signal) {
  // One signal at about the time the impatient one gives up: if it says that it timed out, the
  // signal belongs to the patient one, who would otherwise wait for ever.
  for (int i = 0; i < 100 * WAYS; ++i) {
    const struct way* way = &ways[i % WAYS];
    init(way);
    waiting = given_up = 0;
    pthread_t impatient = start(wait_shortly, way), patient = start(wait_for_signal, way);
    lock();
    while (waiting < 2) {
      unlock();
      sched_yield();
      lock();
    }
    struct timespec at = in_ms(way->of_call, 1);
    if (i / WAYS % 2) {
      unlock();
      while (!has_passed(way->of_call, at)) sched_yield();
      lock();
    }
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    unlock();
    EXPECT_EQ(pthread_join(impatient, NULL), 0);
    EXPECT(given_up);
    if (result_of_impatient == 0) EXPECT_EQ(pthread_cond_signal(&cond), 0);
    EXPECT_EQ(pthread_join(patient, NULL), 0);
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  }
}

enum { THREADS = 8, PERMITS = 800 };
static int taken, all_given;

static void* take_impatiently(void* way) {
  unsigned long ms = 0;
  lock();
  while (permits > 0 || !all_given) {
    if (permits == 0) {
      int error = wait_until(way, in_ms(((const struct way*)way)->of_call, ms++ % 3));
      EXPECT(error == 0 || error == ETIMEDOUT);
      continue;
    }
    --permits;
    ++taken;
  }
  unlock();
  return NULL;
}

CASE(timeouts_and_signals_mix) {
  for (int w = 0; w < WAYS; ++w) {
    pthread_t threads[THREADS];
    init(&ways[w]);
    permits = taken = all_given = 0;
    for (int i = 0; i < THREADS; ++i) threads[i] = start(take_impatiently, &ways[w]);
    for (int i = 0; i < PERMITS; ++i) {
      lock();
      ++permits;
      EXPECT_EQ(pthread_cond_signal(&cond), 0);
      unlock();
      if (i % 8 == 0) sched_yield();
    }
    lock();
    all_given = 1;
    EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
    unlock();
    for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT_EQ(taken, PERMITS);
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  }
}
