// What a cancelled wait leaves behind: the mutex held in the handler, no token and no signal
// swallowed; and the disabled state, in which nothing happens at all.
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_mutex_t mutex;
static pthread_cond_t cond;
static sem_t sem;
static pid_t blocker;
static int handlers_run, waiting, woken;

static void setup(int mutex_type) {
  pthread_mutexattr_t attr;
  EXPECT_EQ(pthread_mutexattr_init(&attr), 0);
  EXPECT_EQ(pthread_mutexattr_settype(&attr, mutex_type), 0);
  EXPECT_EQ(pthread_mutex_init(&mutex, &attr), 0);
  EXPECT_EQ(pthread_mutexattr_destroy(&attr), 0);
  EXPECT_EQ(pthread_cond_init(&cond, NULL), 0);
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  handlers_run = waiting = woken = 0;
  blocker = 0;
}

static void teardown(void) {
  EXPECT_EQ(pthread_cond_destroy(&cond), 0);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  EXPECT_EQ(sem_destroy(&sem), 0);
}

static void expect_held(void* unused) {
  (void)unused;
  ++handlers_run;
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);  // an error if it were not ours: error-checking
}

static void* wait_on_cond(void* timed) {
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  pthread_cleanup_push(expect_held, NULL);
  ++waiting;
  if (!__atomic_load_n(&blocker, __ATOMIC_RELAXED)) about_to_block(&blocker);
  int error = timed ? pthread_cond_timedwait(&cond, &mutex, &at) : pthread_cond_wait(&cond, &mutex);
  EXPECT_EQ(error, 0);
  ++woken;
  pthread_cleanup_pop(0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return NULL;
}

CASE(the_mutex_is_held_again_in_the_handler) {
  const int types[] = {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE};
  for (int i = 0; i < 60; ++i) {
    pthread_t thread;
    void* result;
    setup(types[i % 3]);
    EXPECT_EQ(pthread_create(&thread, NULL, wait_on_cond, i % 2 ? &mutex : NULL), 0);
    wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);  // the handler has to wait for it
    EXPECT_EQ(pthread_cancel(thread), 0);
    for (int yields = 0; yields < i % 5; ++yields) sched_yield();
    EXPECT_EQ(handlers_run, 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT(result == PTHREAD_CANCELED);
    EXPECT_EQ(handlers_run, 1);
    teardown();
  }
}

CASE(a_cancelled_waiter_takes_no_signal_from_the_others) {
  // Two wait, one is cancelled and one signal is sent: the other one must get it.
  for (int i = 0; i < 200; ++i) {
    pthread_t victim, other;
    void* result;
    setup(PTHREAD_MUTEX_ERRORCHECK);
    EXPECT_EQ(pthread_create(&victim, NULL, wait_on_cond, NULL), 0);
    EXPECT_EQ(pthread_create(&other, NULL, wait_on_cond, NULL), 0);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    while (waiting < 2) {
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      sched_yield();
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    }
    if (i % 2) EXPECT_EQ(pthread_cancel(victim), 0);
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    if (!(i % 2)) EXPECT_EQ(pthread_cancel(victim), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_join(victim, &result), 0);
    if (result != PTHREAD_CANCELED) {  // it had the signal before the request: send another
      EXPECT_EQ(pthread_cond_signal(&cond), 0);
    }
    EXPECT_EQ(pthread_join(other, NULL), 0);
    EXPECT_EQ(woken, result == PTHREAD_CANCELED ? 1 : 2);
    EXPECT_EQ(handlers_run, result == PTHREAD_CANCELED);
    teardown();
  }
}

static void* wait_on_sem(void* argument) {
  about_to_block(&blocker);
  while (sem_wait(&sem) != 0) EXPECT_EQ(errno, EINTR);
  return argument;
}

CASE(a_cancelled_waiter_takes_no_token) {
  for (int i = 0; i < 200; ++i) {
    pthread_t thread;
    void* result;
    int tokens;
    setup(PTHREAD_MUTEX_NORMAL);
    EXPECT_EQ(pthread_create(&thread, NULL, wait_on_sem, &sem), 0);
    if (i % 2) wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_EQ(sem_post(&sem), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(sem_getvalue(&sem, &tokens), 0);
    EXPECT_EQ(tokens, result == PTHREAD_CANCELED);
    teardown();
  }
}

static void* wait_disabled(void* argument) {
  int before;
  struct timespec time = {0, 1000000}, at = soon(CLOCK_MONOTONIC);
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before), 0);
  EXPECT_EQ(before, PTHREAD_CANCEL_ENABLE);
  about_to_block(&blocker);
  while (sem_wait(&sem) != 0) EXPECT_EQ(errno, EINTR);
  pthread_testcancel();
  EXPECT_EQ(nanosleep(&time, NULL), 0);
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL), 0);
  at = soon(CLOCK_REALTIME);
  EXPECT_ERRNO(sem_timedwait(&sem, &at), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &at), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  ++woken;
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
  EXPECT_EQ(before, PTHREAD_CANCEL_DISABLE);
  if (argument) pthread_testcancel();
  return NULL;
}

CASE(disabled_waits_end_as_ever_and_the_request_stays) {
  pthread_t thread;
  void* result;
  setup(PTHREAD_MUTEX_NORMAL);
  EXPECT_EQ(pthread_create(&thread, NULL, wait_disabled, &sem), 0);
  wait_until_blocked(&blocker);
  EXPECT_EQ(pthread_cancel(thread), 0);
  EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
  EXPECT_EQ(woken, 1);
  teardown();
}

CASE(a_request_that_finds_no_point_is_without_effect) {
  setup(PTHREAD_MUTEX_NORMAL);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    void* result = &sem;
    EXPECT_EQ(pthread_create(&thread, NULL, wait_disabled, NULL), 0);
    wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_EQ(sem_post(&sem), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT(result == NULL);
    // The next thread has no request pending.
    setup(PTHREAD_MUTEX_NORMAL);
    EXPECT_EQ(sem_post(&sem), 0);
    EXPECT_EQ(pthread_create(&thread, NULL, wait_on_sem, &sem), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT(result == &sem);
    blocker = 0;
  }
  teardown();
}

static int order[8], events;

static void note(void* number) { order[events++] = (int)(intptr_t)number; }

static void* nest_handlers(void* argument) {
  pthread_cleanup_push(note, (void*)1);
  pthread_cleanup_push(note, (void*)2);
  pthread_cleanup_push(note, (void*)3);
  about_to_block(&blocker);
  for (;;) pause();
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return argument;
}

CASE(handlers_run_last_pushed_first) {
  pthread_t thread;
  setup(PTHREAD_MUTEX_NORMAL);
  EXPECT_EQ(pthread_create(&thread, NULL, nest_handlers, NULL), 0);
  wait_until_blocked(&blocker);
  EXPECT_EQ(pthread_cancel(thread), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(events, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(order[i], 3 - i);
  teardown();
}

static void wait_in_handler(void* unused) {
  (void)unused;
  // The request has been acted upon: calls in the handler are not cancelled again.
  while (sem_wait(&sem) != 0) EXPECT_EQ(errno, EINTR);
  pthread_testcancel();
  ++handlers_run;
}

static void* cancelled_then_waits(void* argument) {
  pthread_cleanup_push(wait_in_handler, NULL);
  about_to_block(&blocker);
  for (;;) pause();
  pthread_cleanup_pop(0);
  return argument;
}

CASE(handlers_may_wait) {
  pthread_t thread;
  void* result;
  setup(PTHREAD_MUTEX_NORMAL);
  EXPECT_EQ(pthread_create(&thread, NULL, cancelled_then_waits, NULL), 0);
  wait_until_blocked(&blocker);
  EXPECT_EQ(pthread_cancel(thread), 0);
  EXPECT_EQ(pthread_cancel(thread), 0);
  EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
  EXPECT_EQ(handlers_run, 1);
  teardown();
}
