// Priority inheritance and priority ceilings: what programs without real-time priorities see of
// them, and, where permitted, threads that have such priorities.
#include <pthread.h>
#include <sched.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_mutex_t mutex;

static void init(int protocol, int ceiling) {
  pthread_mutexattr_t attr;
  EXPECT_EQ(pthread_mutexattr_init(&attr), 0);
  EXPECT_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
  if (protocol == PTHREAD_PRIO_PROTECT) {
    EXPECT_EQ(pthread_mutexattr_setprioceiling(&attr, ceiling), 0);
  }
  EXPECT_EQ(pthread_mutex_init(&mutex, &attr), 0);
  EXPECT_EQ(pthread_mutexattr_destroy(&attr), 0);
}

// Runs a body in a thread with that real-time priority; 0 if this is not permitted.
static int run_at(int priority, void* (*body)(void*), void* argument) {
  pthread_t thread;
  pthread_attr_t attr;
  struct sched_param param = {.sched_priority = priority};
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED), 0);
  EXPECT_EQ(pthread_attr_setschedpolicy(&attr, SCHED_FIFO), 0);
  EXPECT_EQ(pthread_attr_setschedparam(&attr, &param), 0);
  int error = pthread_create(&thread, &attr, body, argument);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  if (error == EPERM) return 0;
  EXPECT_EQ(error, 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  return 1;
}

CASE(attributes_keep_what_they_are_given) {
  pthread_mutexattr_t attr;
  int value;
  EXPECT_EQ(pthread_mutexattr_init(&attr), 0);
  EXPECT_EQ(pthread_mutexattr_getprotocol(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_PRIO_NONE);
  EXPECT_EQ(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT), 0);
  EXPECT_EQ(pthread_mutexattr_getprotocol(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_PRIO_PROTECT);
  EXPECT_EQ(pthread_mutexattr_setprioceiling(&attr, 7), 0);
  EXPECT_EQ(pthread_mutexattr_getprioceiling(&attr, &value), 0);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(pthread_mutexattr_setprioceiling(&attr, 1000), EINVAL);
  EXPECT_EQ(pthread_mutexattr_destroy(&attr), 0);
}

CASE(only_ceiling_mutexes_have_a_ceiling) {
  int value;
  init(PTHREAD_PRIO_NONE, 0);
  EXPECT_EQ(pthread_mutex_getprioceiling(&mutex, &value), EINVAL);
  EXPECT_EQ(pthread_mutex_setprioceiling(&mutex, 5, &value), EINVAL);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  init(PTHREAD_PRIO_PROTECT, 5);
  EXPECT_EQ(pthread_mutex_getprioceiling(&mutex, &value), 0);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

static int permitted;

static void* use_ceiling(void* unused) {
  struct sched_param param;
  int policy, old;
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
  // The owner runs at the ceiling.
  EXPECT_EQ(sched_getparam(0, &param), 0);
  EXPECT_EQ(param.sched_priority, 10);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(sched_getparam(0, &param), 0);
  EXPECT_EQ(param.sched_priority, 3);
  EXPECT_EQ(pthread_getschedparam(pthread_self(), &policy, &param), 0);
  EXPECT_EQ(policy, SCHED_FIFO);
  EXPECT_EQ(pthread_mutex_setprioceiling(&mutex, 12, &old), 0);
  EXPECT_EQ(old, 10);
  EXPECT_EQ(pthread_mutex_getprioceiling(&mutex, &old), 0);
  EXPECT_EQ(old, 12);
  EXPECT_EQ(pthread_mutex_setprioceiling(&mutex, 10, &old), 0);
  permitted = 1;
  return unused;
}

CASE(a_ceiling_lifts_its_owner) {
  init(PTHREAD_PRIO_PROTECT, 10);
  if (!run_at(3, use_ceiling, NULL)) SKIP("real-time priorities are not permitted");
  EXPECT(permitted);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

static void* be_too_high(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), EINVAL);
  EXPECT_EQ(pthread_mutex_trylock(&mutex), EINVAL);
  return unused;
}

CASE(a_thread_above_the_ceiling_is_refused) {
  init(PTHREAD_PRIO_PROTECT, 10);
  if (!run_at(11, be_too_high, NULL)) SKIP("real-time priorities are not permitted");
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

static pid_t blocker;
static pthread_barrier_t gate;

static void* own(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return unused;
}

static void* want(void* unused) {
  about_to_block(&blocker);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return unused;
}

static void* time_out(void* unused) {
  struct timespec at = soon(CLOCK_REALTIME);
  EXPECT_EQ(pthread_mutex_timedlock(&mutex, &at), ETIMEDOUT);
  EXPECT(has_passed(CLOCK_REALTIME, at));
  EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
  return unused;
}

CASE(inheritance_with_several_waiters) {
  enum { WAITERS = 6 };
  pthread_t holder, waiters[WAITERS];
  init(PTHREAD_PRIO_INHERIT, 0);
  EXPECT_EQ(pthread_barrier_init(&gate, NULL, 2), 0);
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(pthread_create(&holder, NULL, own, NULL), 0);
    pthread_barrier_wait(&gate);
    for (int i = 0; i < WAITERS; ++i) {
      EXPECT_EQ(pthread_create(&waiters[i], NULL, i % 3 ? want : time_out, NULL), 0);
    }
    for (int i = 0; i < WAITERS; i += 3) EXPECT_EQ(pthread_join(waiters[i], NULL), 0);
    pthread_barrier_wait(&gate);
    for (int i = 0; i < WAITERS; ++i) {
      if (i % 3) EXPECT_EQ(pthread_join(waiters[i], NULL), 0);
    }
    EXPECT_EQ(pthread_join(holder, NULL), 0);
  }
  EXPECT_EQ(pthread_barrier_destroy(&gate), 0);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

CASE(inheritance_with_a_waiter_of_high_priority) {
  init(PTHREAD_PRIO_INHERIT, 0);
  if (!run_at(2, want, NULL)) SKIP("real-time priorities are not permitted");
  pthread_t holder;
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(pthread_barrier_init(&gate, NULL, 2), 0);
    EXPECT_EQ(pthread_create(&holder, NULL, own, NULL), 0);
    pthread_barrier_wait(&gate);
    EXPECT(run_at(5, time_out, NULL));
    pthread_barrier_wait(&gate);
    EXPECT(run_at(5, want, NULL));
    EXPECT_EQ(pthread_join(holder, NULL), 0);
    EXPECT_EQ(pthread_barrier_destroy(&gate), 0);
  }
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void* alternate(void* mine) {
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    while (turn != (mine != NULL)) EXPECT_EQ(pthread_cond_wait(&cond, &mutex), 0);
    turn = !turn;
    EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  return NULL;
}

CASE(a_condition_variable_with_an_inheriting_mutex) {
  pthread_t threads[2];
  init(PTHREAD_PRIO_INHERIT, 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pthread_create(&threads[i], NULL, alternate, i ? &cond : NULL), 0);
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}
