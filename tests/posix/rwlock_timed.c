// Timed and clock variants of read-write locks, for readers and writers, of every kind.
#include <pthread.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_rwlock_t rwlock;
static pid_t blocker;

static const struct way {
  clockid_t clock;
  int by_clock, writes;
} ways[] = {
    {CLOCK_REALTIME, 0, 0}, {CLOCK_REALTIME, 0, 1},  {CLOCK_REALTIME, 1, 0},
    {CLOCK_REALTIME, 1, 1}, {CLOCK_MONOTONIC, 1, 0}, {CLOCK_MONOTONIC, 1, 1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static const int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP,
                            PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
enum { KINDS = 2 };

static int lock_until(const struct way* way, struct timespec at) {
  if (way->by_clock) {
    return way->writes ? pthread_rwlock_clockwrlock(&rwlock, way->clock, &at)
                       : pthread_rwlock_clockrdlock(&rwlock, way->clock, &at);
  }
  return way->writes ? pthread_rwlock_timedwrlock(&rwlock, &at)
                     : pthread_rwlock_timedrdlock(&rwlock, &at);
}

static void init(int kind) {
  pthread_rwlockattr_t attr;
  EXPECT_EQ(pthread_rwlockattr_init(&attr), 0);
  EXPECT_EQ(pthread_rwlockattr_setkind_np(&attr, kind), 0);
  EXPECT_EQ(pthread_rwlock_init(&rwlock, &attr), 0);
  EXPECT_EQ(pthread_rwlockattr_destroy(&attr), 0);
}

static pthread_t start(void* (*body)(void*), const struct way* way) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, (void*)way), 0);
  return thread;
}

static void run(void* (*body)(void*), const struct way* way) {
  EXPECT_EQ(pthread_join(start(body, way), NULL), 0);
}

static void unlock(void) { EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0); }

static void expect_free(void) {
  EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock), 0);
  unlock();
  EXPECT_EQ(pthread_rwlock_tryrdlock(&rwlock), 0);
  unlock();
}

static void* time_out(void* argument) {
  const struct way* way = argument;
  struct timespec at = soon(way->clock);
  errno = 4711;
  EXPECT_EQ(lock_until(way, at), ETIMEDOUT);
  EXPECT(has_passed(way->clock, at));
  EXPECT_EQ(lock_until(way, at), ETIMEDOUT);
  EXPECT_EQ(errno, 4711);
  at = malformed(way->clock);
  EXPECT_EQ(lock_until(way, at), EINVAL);
  at.tv_nsec = -1;
  EXPECT_EQ(lock_until(way, at), EINVAL);
  return NULL;
}

CASE(a_held_lock_times_out) {
  for (int k = 0; k < KINDS; ++k) {
    for (int w = 0; w < WAYS; ++w) {
      init(kinds[k]);
      EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
      run(time_out, &ways[w]);
      unlock();
      expect_free();
      if (ways[w].writes) {
        EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
        run(time_out, &ways[w]);
        unlock();
        expect_free();
      }
      EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
    }
  }
}

CASE(a_free_lock_is_taken_even_when_the_time_has_passed) {
  for (int w = 0; w < WAYS; ++w) {
    init(kinds[w % KINDS]);
    EXPECT_EQ(lock_until(&ways[w], in_ms(ways[w].clock, -1000)), 0);
    unlock();
    EXPECT_EQ(lock_until(&ways[w], far_off(ways[w].clock)), 0);
    unlock();
    expect_free();
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

CASE(clocks_that_cannot_be_waited_on_are_refused) {
  struct timespec at = far_off(CLOCK_REALTIME);
  init(kinds[0]);
  EXPECT_EQ(pthread_rwlock_clockrdlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
  EXPECT_EQ(pthread_rwlock_clockwrlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
  expect_free();
  EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
}

static void* take(void* argument) {
  const struct way* way = argument;
  about_to_block(&blocker);
  EXPECT_EQ(lock_until(way, far_off(way->clock)), 0);
  unlock();
  return NULL;
}

CASE(a_waiter_gets_it_in_time) {
  for (int k = 0; k < KINDS; ++k) {
    for (int w = 0; w < 3 * WAYS; ++w) {
      init(kinds[k]);
      EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
      pthread_t thread = start(take, &ways[w % WAYS]);
      wait_until_blocked(&blocker);
      unlock();
      EXPECT_EQ(pthread_join(thread, NULL), 0);
      EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
    }
  }
}

static void* give_up_writing(void* way) {
  about_to_block(&blocker);
  EXPECT_EQ(lock_until(way, in_ms(((const struct way*)way)->clock, 50)), ETIMEDOUT);
  return NULL;
}

CASE(a_writer_that_gives_up_lets_the_readers_in) {
  // Writers first: a reader queues behind the waiting writer, though only a reader holds the lock.
  init(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  for (int w = 1; w < WAYS; w += 2) {
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    pthread_t writer = start(give_up_writing, &ways[w]);
    wait_until_blocked(&blocker);
    pthread_t reader = start(take, &ways[w - 1]);
    EXPECT_EQ(pthread_join(writer, NULL), 0);
    EXPECT_EQ(pthread_join(reader, NULL), 0);  // while we still hold it
    blocker = 0;
    unlock();
  }
  expect_free();
  EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
}

enum { THREADS = 6, ROUNDS = 100 };
static long written, twin;

static void* mix_impatiently(void* argument) {
  long number = (long)argument;
  for (int done = 0, tries = 0; done < ROUNDS; ++tries) {
    const struct way* way = &ways[(number + tries) % WAYS];
    int error = lock_until(way, in_ms(way->clock, tries % 3));
    if (error == ETIMEDOUT) continue;
    EXPECT_EQ(error, 0);
    if (way->writes) {
      ++written;
      if (done % 8 == 0) sched_yield();
      ++twin;
    } else {
      EXPECT_EQ(written, twin);
    }
    unlock();
    ++done;
  }
  return NULL;
}

CASE(waiters_that_give_up_do_not_disturb_the_others) {
  for (int k = 0; k < KINDS; ++k) {
    pthread_t threads[THREADS];
    init(kinds[k]);
    for (long i = 0; i < THREADS; ++i) {
      EXPECT_EQ(pthread_create(&threads[i], NULL, mix_impatiently, (void*)i), 0);
    }
    for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT_EQ(written, twin);
    expect_free();
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}
