// Signal handlers that run while a thread waits: which calls end with EINTR, which go on, and a
// storm of handlers that post semaphores in the middle of every other pthread call.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"
#include "handled.h"

static sem_t sem;
static pid_t blocker;

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void* expect_eintr(void* timed) {
  struct timespec at = far_off(CLOCK_REALTIME);
  while (n_handled() == 0) {  // the signal may come just before the wait
    about_to_block(&blocker);
    errno = 0;
    EXPECT_EQ(timed ? sem_timedwait(&sem, &at) : sem_wait(&sem), -1);
    EXPECT_EQ(errno, EINTR);
  }
  return NULL;
}

CASE(without_restart_a_semaphore_wait_ends_with_eintr) {
  handle(count, 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(sem_init(&sem, 0, 0), 0);
    handled = 0;
    pthread_t thread = start(expect_eintr, i % 2 ? &sem : NULL);
    wait_until_blocked(&blocker);
    interrupt(thread);
    // If it was not asleep yet: it waits now, and the next signal finds it there.
    while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
      EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
      sched_yield();
    }
    blocker = 0;
    int tokens;
    EXPECT_EQ(sem_getvalue(&sem, &tokens), 0);
    EXPECT_EQ(tokens, 0);
  }
}

static void* wait_for_token(void* unused) {
  about_to_block(&blocker);
  EXPECT_EQ(sem_wait(&sem), 0);
  return unused;
}

CASE(with_restart_a_semaphore_wait_goes_on) {
  handle(count, SA_RESTART);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(sem_init(&sem, 0, 0), 0);
    pthread_t thread = start(wait_for_token, NULL);
    wait_until_blocked(&blocker);
    for (int s = 0; s < 3; ++s) interrupt(thread);
    EXPECT_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
    EXPECT_EQ(sem_post(&sem), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t sleeper;
static int go;

static void* in_mutex_lock(void* unused) {
  about_to_block(&blocker);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return unused;
}

static void* in_rwlock(void* unused) {
  about_to_block(&blocker);
  EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
  EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0);
  return unused;
}

static void* in_barrier(void* unused) {
  about_to_block(&blocker);
  pthread_barrier_wait(&barrier);
  return unused;
}

static void* in_join(void* unused) {
  about_to_block(&blocker);
  EXPECT_EQ(pthread_join(sleeper, NULL), 0);
  return unused;
}

static void* in_cond_wait(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  about_to_block(&blocker);
  while (!go) EXPECT_EQ(pthread_cond_wait(&cond, &mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return unused;
}

static void* in_cond_timedwait(void* unused) {
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  about_to_block(&blocker);
  while (!go) EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &at), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  return unused;
}

CASE(other_waits_never_end_with_eintr) {
  void* (*const waits[])(void*) = {in_mutex_lock, in_rwlock,    in_barrier,
                                   in_join,       in_cond_wait, in_cond_timedwait};
  for (int i = 0; i < 24; ++i) {
    void* (*wait)(void*) = waits[i % 6];
    handle(count, i % 4 < 2 ? 0 : SA_RESTART);
    EXPECT_EQ(sem_init(&sem, 0, 0), 0);
    EXPECT_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
    go = 0;
    if (wait == in_mutex_lock) EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    if (wait == in_rwlock) EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
    if (wait == in_join) {
      sleeper = start(wait_for_token, NULL);
      wait_until_blocked(&blocker);
    }
    pthread_t thread = start(wait, NULL);
    wait_until_blocked(&blocker);
    for (int s = 0; s < 3; ++s) interrupt(thread);
    EXPECT_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
    if (wait == in_mutex_lock) EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    if (wait == in_rwlock) EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0);
    if (wait == in_join) EXPECT_EQ(sem_post(&sem), 0);
    if (wait == in_barrier) pthread_barrier_wait(&barrier);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    go = 1;
    EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
  }
}

static int stop;

static void post(int number) {
  int saved = errno;
  count(number);
  EXPECT_EQ(sem_post(&sem), 0);
  errno = saved;
}

static void* nothing(void* argument) { return argument; }

static void* use_everything(void* unused) {
  sem_t own;
  EXPECT_EQ(sem_init(&own, 0, 0), 0);
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    struct timespec at = in_ms(CLOCK_REALTIME, 1);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    int error = pthread_cond_timedwait(&cond, &mutex, &at);
    EXPECT(error == 0 || error == ETIMEDOUT);
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
    sched_yield();
    EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0);
    EXPECT_EQ(sem_post(&own), 0);
    while (sem_wait(&own) != 0) EXPECT_EQ(errno, EINTR);
    struct timespec left = {0, 10000};
    while (nanosleep(&left, &left) != 0) EXPECT_EQ(errno, EINTR);
    EXPECT_EQ(pthread_join(start(nothing, NULL), NULL), 0);
  }
  return unused;
}

static void* consume(void* consumed) {
  for (;;) {
    if (sem_wait(&sem) != 0) {
      EXPECT_EQ(errno, EINTR);
      continue;
    }
    if (__atomic_load_n(&stop, __ATOMIC_RELAXED) == 2) return NULL;
    __atomic_add_fetch((int*)consumed, 1, __ATOMIC_SEQ_CST);
  }
}

CASE(handlers_post_in_the_middle_of_every_call) {
  enum { WORKERS = 4, SIGNALS = 4000 };
  pthread_t workers[WORKERS];
  int consumed = 0;
  handled = 0;
  handle(post, SA_RESTART);
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  pthread_t consumer = start(consume, &consumed);
  for (int i = 0; i < WORKERS; ++i) workers[i] = start(use_everything, NULL);
  for (int i = 0; i < SIGNALS; ++i) {
    EXPECT_EQ(pthread_kill(workers[i % WORKERS], SIGUSR1), 0);
    if (i % 4 == 0) sched_yield();
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < WORKERS; ++i) EXPECT_EQ(pthread_join(workers[i], NULL), 0);
  EXPECT(n_handled() > 0);
  while (__atomic_load_n(&consumed, __ATOMIC_SEQ_CST) < n_handled()) sched_yield();
  __atomic_store_n(&stop, 2, __ATOMIC_RELAXED);
  EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(pthread_join(consumer, NULL), 0);
  EXPECT_EQ(consumed, n_handled());
}
