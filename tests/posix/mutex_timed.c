// pthread_mutex_timedlock and clocklock on every kind of mutex and clock.
#include <pthread.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"
#include "mutex_kinds.h"

static pthread_mutex_t mutex;
static pid_t blocker;

// How a timed lock is called.
static const struct way {
  clockid_t clock;
  int by_timedlock;
} ways[] = {{CLOCK_REALTIME, 1}, {CLOCK_REALTIME, 0}, {CLOCK_MONOTONIC, 0}};
enum { WAYS = 3 };

static int lock_until(const struct way* way, struct timespec at) {
  return way->by_timedlock ? pthread_mutex_timedlock(&mutex, &at)
                           : pthread_mutex_clocklock(&mutex, way->clock, &at);
}

// Priority inheritance on the monotonic clock needs a kernel and libc that know of it.
static int not_supported(const struct mutex_kind* kind, const struct way* way) {
  return kind->protocol == PTHREAD_PRIO_INHERIT && !way->by_timedlock;
}

static void run(void* (*body)(void*), const struct way* way) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, (void*)way), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

static void* time_out(void* argument) {
  const struct way* way = argument;
  struct timespec at = soon(way->clock);
  errno = 4711;
  EXPECT_EQ(lock_until(way, at), ETIMEDOUT);
  EXPECT(has_passed(way->clock, at));
  EXPECT_EQ(lock_until(way, at), ETIMEDOUT);  // a time that has passed
  at.tv_sec = 0;
  EXPECT_EQ(lock_until(way, at), ETIMEDOUT);
  EXPECT_EQ(errno, 4711);
  return NULL;
}

CASE(a_held_mutex_times_out) {
  FOR_EACH_MUTEX_KIND(kind) {
    for (int w = 0; w < WAYS; ++w) {
      if (not_supported(kind, &ways[w])) continue;
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      run(time_out, &ways[w]);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      // Nothing is left of the waiter.
      EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}

CASE(a_free_mutex_is_taken_even_when_the_time_has_passed) {
  FOR_EACH_MUTEX_KIND(kind) {
    for (int w = 0; w < WAYS; ++w) {
      if (not_supported(kind, &ways[w])) continue;
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      EXPECT_EQ(lock_until(&ways[w], in_ms(ways[w].clock, -1000)), 0);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      EXPECT_EQ(lock_until(&ways[w], far_off(ways[w].clock)), 0);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}

static void* refuse_time(void* argument) {
  const struct way* way = argument;
  struct timespec at = malformed(way->clock);
  EXPECT_EQ(lock_until(way, at), EINVAL);
  at.tv_nsec = -1;
  EXPECT_EQ(lock_until(way, at), EINVAL);
  return NULL;
}

CASE(a_malformed_time_is_refused) {
  FOR_EACH_MUTEX_KIND(kind) {
    for (int w = 0; w < WAYS; ++w) {
      if (not_supported(kind, &ways[w])) continue;
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      run(refuse_time, &ways[w]);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}

CASE(clocks_that_cannot_be_waited_on_are_refused) {
  struct timespec at = far_off(CLOCK_REALTIME);
  init_mutex(&mutex, &mutex_kinds[0], PTHREAD_PROCESS_PRIVATE);
  EXPECT_EQ(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
  EXPECT_EQ(pthread_mutex_clocklock(&mutex, 4711, &at), EINVAL);
  EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

static void* take(void* argument) {
  const struct way* way = argument;
  about_to_block(&blocker);
  EXPECT_EQ(lock_until(way, far_off(way->clock)), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return NULL;
}

CASE(a_waiter_gets_it_in_time) {
  FOR_EACH_MUTEX_KIND(kind) {
    for (int i = 0; i < 3 * WAYS; ++i) {
      const struct way* way = &ways[i % WAYS];
      if (not_supported(kind, way)) continue;
      pthread_t thread;
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      EXPECT_EQ(pthread_create(&thread, NULL, take, (void*)way), 0);
      wait_until_blocked(&blocker);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      EXPECT_EQ(pthread_join(thread, NULL), 0);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}

CASE(the_owner_is_told_of_the_deadlock_or_counts) {
  FOR_EACH_MUTEX_KIND(kind) {
    for (int w = 0; w < WAYS; ++w) {
      if (not_supported(kind, &ways[w])) continue;
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      int error = lock_until(&ways[w], soon(ways[w].clock));
      switch (kind->type) {
        case PTHREAD_MUTEX_RECURSIVE:
          EXPECT_EQ(error, 0);
          EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
          break;
        case PTHREAD_MUTEX_ERRORCHECK:
          EXPECT_EQ(error, EDEADLK);
          break;
        default:
          EXPECT(error == ETIMEDOUT || (kind->protocol && error == EDEADLK));
      }
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}

enum { THREADS = 6, ROUNDS = 60 };
static long counter;

static void* lock_impatiently(void* argument) {
  const struct way* way = argument;
  for (int done = 0; done < ROUNDS;) {
    int error = lock_until(way, in_ms(way->clock, done % 2));
    if (error == ETIMEDOUT) continue;
    EXPECT_EQ(error, 0);
    ++counter;
    ++done;
    if (done % 8 == 0) sched_yield();
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  return NULL;
}

CASE(waiters_that_give_up_do_not_disturb_the_others) {
  FOR_EACH_MUTEX_KIND(kind) {
    for (int w = 0; w < WAYS; ++w) {
      if (not_supported(kind, &ways[w])) continue;
      pthread_t threads[THREADS];
      counter = 0;
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      for (int i = 0; i < THREADS; ++i) {
        EXPECT_EQ(pthread_create(&threads[i], NULL, lock_impatiently, (void*)&ways[w]), 0);
      }
      for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
      EXPECT_EQ(counter, THREADS * ROUNDS);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}
