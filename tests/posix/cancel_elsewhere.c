// Calls that are no cancellation points: with a request pending, and blocked in them.
#include <pthread.h>
#include <semaphore.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static pid_t blocker;

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t busy_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static int passed;

static void* through_calls_that_do_not_cancel(void* blocks) {
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
  EXPECT_EQ(pthread_cancel(pthread_self()), 0);
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
  EXPECT_EQ(pthread_mutex_lock(&own), 0);
  EXPECT_EQ(pthread_mutex_trylock(&own), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&own), 0);
  EXPECT_EQ(pthread_mutex_timedlock(&own, &at), 0);
  EXPECT_EQ(pthread_mutex_unlock(&own), 0);
  EXPECT_EQ(pthread_cond_signal(&cond), 0);
  EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
  EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(sem_trywait(&sem), 0);
  sched_yield();
  if (blocks) {
    about_to_block(&blocker);
    EXPECT_EQ(pthread_mutex_lock(&busy), 0);
    EXPECT_EQ(pthread_mutex_unlock(&busy), 0);
    pthread_barrier_wait(&barrier);
    about_to_block(&blocker);
    EXPECT_EQ(pthread_rwlock_wrlock(&busy_rwlock), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&busy_rwlock), 0);
  }
  passed = 1;
  pthread_testcancel();
  return NULL;
}

CASE(other_calls_are_no_cancellation_points) {
  pthread_t thread;
  void* result = NULL;
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  passed = 0;
  EXPECT_EQ(pthread_create(&thread, NULL, through_calls_that_do_not_cancel, NULL), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
  EXPECT(passed);
}

CASE(blocked_in_a_lock_or_barrier_is_not_cancelled) {
  pthread_t thread;
  void* result = NULL;
  passed = 0;
  blocker = 0;
  EXPECT_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
  EXPECT_EQ(pthread_mutex_lock(&busy), 0);
  EXPECT_EQ(pthread_create(&thread, NULL, through_calls_that_do_not_cancel, &busy), 0);
  wait_until_blocked(&blocker);
  EXPECT_EQ(pthread_cancel(thread), 0);
  EXPECT_EQ(pthread_rwlock_wrlock(&busy_rwlock), 0);
  EXPECT_EQ(pthread_mutex_unlock(&busy), 0);
  pthread_barrier_wait(&barrier);
  wait_until_blocked(&blocker);
  EXPECT_EQ(pthread_cancel(thread), 0);
  EXPECT_EQ(pthread_rwlock_unlock(&busy_rwlock), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
  EXPECT(passed);
  EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
}
