// Unnamed semaphores: counting, limits, timed and clock waits, and memory that may go once the
// waiter has its token.
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static sem_t sem, answer;
static pid_t blocker;

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void join(pthread_t thread) { EXPECT_EQ(pthread_join(thread, NULL), 0); }

static int value(sem_t* s) {
  int tokens = -1;
  EXPECT_EQ(sem_getvalue(s, &tokens), 0);
  return tokens;
}

CASE(tokens_are_counted) {
  EXPECT_EQ(sem_init(&sem, 0, 3), 0);
  EXPECT_EQ(value(&sem), 3);
  EXPECT_EQ(sem_wait(&sem), 0);
  EXPECT_EQ(sem_trywait(&sem), 0);
  EXPECT_EQ(value(&sem), 1);
  EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(value(&sem), 2);
  EXPECT_EQ(sem_wait(&sem), 0);
  EXPECT_EQ(sem_wait(&sem), 0);
  EXPECT_ERRNO(sem_trywait(&sem), EAGAIN);
  EXPECT_EQ(value(&sem), 0);
  EXPECT_EQ(sem_destroy(&sem), 0);
}

CASE(errno_is_left_alone_by_success) {
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  struct timespec at = far_off(CLOCK_REALTIME);
  errno = 4711;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(sem_wait(&sem), 0);
  EXPECT_EQ(sem_trywait(&sem), 0);
  EXPECT_EQ(sem_timedwait(&sem, &at), 0);
  EXPECT_EQ(errno, 4711);
  EXPECT_EQ(sem_destroy(&sem), 0);
}

CASE(the_value_has_a_limit) {
  EXPECT_ERRNO(sem_init(&sem, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
  EXPECT_EQ(sem_init(&sem, 0, SEM_VALUE_MAX), 0);
  EXPECT_ERRNO(sem_post(&sem), EOVERFLOW);
  EXPECT_EQ(value(&sem), SEM_VALUE_MAX);
  EXPECT_EQ(sem_wait(&sem), 0);
  EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(value(&sem), SEM_VALUE_MAX);
  EXPECT_EQ(sem_destroy(&sem), 0);
}

static int wait_until(clockid_t clock, int by_clock, struct timespec at) {
  return by_clock ? sem_clockwait(&sem, clock, &at) : sem_timedwait(&sem, &at);
}

static const struct way {
  clockid_t clock;
  int by_clock;
} ways[] = {{CLOCK_REALTIME, 0}, {CLOCK_REALTIME, 1}, {CLOCK_MONOTONIC, 1}};
enum { WAYS = 3 };

CASE(timed_waits_time_out) {
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  for (const struct way* w = ways; w < ways + WAYS; ++w) {
    struct timespec at = soon(w->clock);
    EXPECT_ERRNO(wait_until(w->clock, w->by_clock, at), ETIMEDOUT);
    EXPECT(has_passed(w->clock, at));
    EXPECT_ERRNO(wait_until(w->clock, w->by_clock, at), ETIMEDOUT);
    EXPECT_ERRNO(wait_until(w->clock, w->by_clock, (struct timespec){0, 0}), ETIMEDOUT);
    EXPECT_ERRNO(wait_until(w->clock, w->by_clock, (struct timespec){-1, 0}), ETIMEDOUT);
    EXPECT_EQ(value(&sem), 0);
  }
  EXPECT_EQ(sem_destroy(&sem), 0);
}

CASE(a_token_is_taken_even_when_the_time_has_passed) {
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  for (const struct way* w = ways; w < ways + WAYS; ++w) {
    EXPECT_EQ(sem_post(&sem), 0);
    EXPECT_EQ(wait_until(w->clock, w->by_clock, in_ms(w->clock, -1000)), 0);
  }
  EXPECT_EQ(value(&sem), 0);
  EXPECT_EQ(sem_destroy(&sem), 0);
}

CASE(malformed_times_and_other_clocks_are_refused) {
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  for (const struct way* w = ways; w < ways + WAYS; ++w) {
    struct timespec at = malformed(w->clock);
    EXPECT_ERRNO(wait_until(w->clock, w->by_clock, at), EINVAL);
    at.tv_nsec = -1;
    EXPECT_ERRNO(wait_until(w->clock, w->by_clock, at), EINVAL);
  }
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_ERRNO(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
  EXPECT_ERRNO(sem_clockwait(&sem, 4711, &at), EINVAL);
  EXPECT_EQ(sem_destroy(&sem), 0);
}

static int got;

static void* wait_once(void* way) {
  const struct way* w = way;
  about_to_block(&blocker);
  EXPECT_EQ(w ? wait_until(w->clock, w->by_clock, far_off(w->clock)) : sem_wait(&sem), 0);
  __atomic_add_fetch(&got, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

CASE(a_post_wakes_a_waiter_of_any_way) {
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  for (int i = 0; i < 40; ++i) {
    pthread_t thread = start(wait_once, i % 4 ? (void*)&ways[i % 4 - 1] : NULL);
    wait_until_blocked(&blocker);
    EXPECT_EQ(value(&sem), 0);
    EXPECT_EQ(sem_post(&sem), 0);
    join(thread);
    EXPECT_EQ(value(&sem), 0);
  }
  EXPECT_EQ(sem_destroy(&sem), 0);
}

CASE(as_many_posts_as_waiters_wake_all) {
  enum { MANY = 30 };
  for (int round = 0; round < 5; ++round) {
    pthread_t threads[MANY];
    EXPECT_EQ(sem_init(&sem, 0, 0), 0);
    got = 0;
    for (int i = 0; i < MANY; ++i) threads[i] = start(wait_once, i % 2 ? (void*)&ways[0] : NULL);
    wait_until_blocked(&blocker);
    for (int i = 0; i < MANY; ++i) EXPECT_EQ(sem_post(&sem), 0);
    for (int i = 0; i < MANY; ++i) join(threads[i]);
    EXPECT_EQ(got, MANY);
    EXPECT_EQ(value(&sem), 0);
    EXPECT_EQ(sem_destroy(&sem), 0);
  }
}

enum { WORKERS = 5, TOKENS = 2, ROUNDS = 1000 };
static int holders;

static void* hold_token(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(sem_wait(&sem), 0);
    EXPECT(__atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST) <= TOKENS);
    if (i % 16 == 0) sched_yield();
    __atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
    EXPECT_EQ(sem_post(&sem), 0);
  }
  return unused;
}

CASE(no_more_are_let_in_than_there_are_tokens) {
  pthread_t threads[WORKERS];
  EXPECT_EQ(sem_init(&sem, 0, TOKENS), 0);
  for (int i = 0; i < WORKERS; ++i) threads[i] = start(hold_token, NULL);
  for (int i = 0; i < WORKERS; ++i) join(threads[i]);
  EXPECT_EQ(value(&sem), TOKENS);
  EXPECT_EQ(sem_destroy(&sem), 0);
}

static void* echo(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(sem_wait(&sem), 0);
    EXPECT_EQ(sem_post(&answer), 0);
  }
  return unused;
}

CASE(two_threads_answer_each_other) {
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  EXPECT_EQ(sem_init(&answer, 0, 0), 0);
  pthread_t thread = start(echo, NULL);
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(sem_post(&sem), 0);
    EXPECT_EQ(sem_wait(&answer), 0);
    EXPECT_EQ(value(&answer), 0);
  }
  join(thread);
  EXPECT_EQ(sem_destroy(&sem), 0);
  EXPECT_EQ(sem_destroy(&answer), 0);
}

static void* post_once(void* s) {
  EXPECT_EQ(sem_post(s), 0);
  return NULL;
}

CASE(the_waiter_may_destroy_and_free_it) {
  for (int i = 0; i < 300; ++i) {
    sem_t* s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(s != MAP_FAILED);
    EXPECT_EQ(sem_init(s, 0, 0), 0);
    pthread_t thread = start(post_once, s);
    EXPECT_EQ(sem_wait(s), 0);
    EXPECT_EQ(sem_destroy(s), 0);
    EXPECT_EQ(munmap(s, 4096), 0);
    join(thread);
  }
}

static int taken, all_posted;

static void* take_impatiently(void* unused) {
  for (int i = 0;; ++i) {
    const struct way* w = &ways[i % WAYS];
    if (wait_until(w->clock, w->by_clock, in_ms(w->clock, i % 3)) == 0) {
      __atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST);
    } else {
      EXPECT_EQ(errno, ETIMEDOUT);
      if (__atomic_load_n(&all_posted, __ATOMIC_SEQ_CST) && value(&sem) == 0) return unused;
    }
  }
}

CASE(waiters_that_give_up_lose_no_token) {
  enum { POSTS = 2000 };
  pthread_t threads[WORKERS];
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  for (int i = 0; i < WORKERS; ++i) threads[i] = start(take_impatiently, NULL);
  for (int i = 0; i < POSTS; ++i) {
    EXPECT_EQ(sem_post(&sem), 0);
    if (i % 16 == 0) sched_yield();
  }
  __atomic_store_n(&all_posted, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < WORKERS; ++i) join(threads[i]);
  EXPECT_EQ(taken, POSTS);
  EXPECT_EQ(sem_destroy(&sem), 0);
}
