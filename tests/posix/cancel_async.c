// Asynchronous cancellation, the calls that set state and type, and requests to threads that have
// already finished.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static sem_t ready;
static volatile unsigned long spins;
static pid_t blocker;

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void await_ready(void) {
  while (sem_wait(&ready) != 0) {
  }
}

static void expect_cancelled(pthread_t thread) {
  void* result = NULL;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
}

static void* compute(void* argument) {
  int before;
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before), 0);
  EXPECT_EQ(before, PTHREAD_CANCEL_DEFERRED);
  sem_post(&ready);
  for (;;) ++spins;
  return argument;
}

CASE(a_compute_loop_is_cancelled) {
  EXPECT_EQ(sem_init(&ready, 0, 0), 0);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread = start(compute, NULL);
    await_ready();
    EXPECT_EQ(pthread_cancel(thread), 0);
    expect_cancelled(thread);
  }
}

static int never;

static void* wait_in_vain(void* argument) {
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
  sem_post(&ready);
  while (!__atomic_load_n(&never, __ATOMIC_ACQUIRE)) {
  }
  return argument;
}

// They take turns on the cores while they wait, and may be anywhere when they are cancelled.
CASE(busy_waits_of_many_are_cancelled) {
  enum { MANY = 8 };
  EXPECT_EQ(sem_init(&ready, 0, 0), 0);
  for (int i = 0; i < 5; ++i) {
    pthread_t threads[MANY];
    for (int k = 0; k < MANY; ++k) threads[k] = start(wait_in_vain, NULL);
    for (int k = 0; k < MANY; ++k) await_ready();
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    for (int k = 0; k < MANY; ++k) EXPECT_EQ(pthread_cancel(threads[k]), 0);
    for (int k = 0; k < MANY; ++k) expect_cancelled(threads[k]);
  }
}

static void* tell_defaults(void* argument) {
  int state = -1, type = -1;
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state), 0);
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type), 0);
  EXPECT_EQ(state, PTHREAD_CANCEL_ENABLE);
  EXPECT_EQ(type, PTHREAD_CANCEL_DEFERRED);
  pthread_testcancel();
  return argument;
}

static void* change_both(void* argument) {
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
  return argument;
}

CASE(new_threads_start_enabled_and_deferred) {
  for (int i = 0; i < 50; ++i) {
    void* result = NULL;
    EXPECT_EQ(pthread_join(start(i % 2 ? tell_defaults : change_both, &ready), &result), 0);
    EXPECT(result == &ready);
  }
}

CASE(unknown_states_and_types_are_refused) {
  int before;
  EXPECT_EQ(pthread_setcancelstate(77, &before), EINVAL);
  EXPECT_EQ(pthread_setcanceltype(77, &before), EINVAL);
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
  EXPECT_EQ(before, PTHREAD_CANCEL_ENABLE);
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before), 0);
  EXPECT_EQ(before, PTHREAD_CANCEL_DEFERRED);
}

static void* finish_at_once(void* argument) {
  sem_post(&ready);
  return argument;
}

CASE(a_finished_thread_keeps_its_value) {
  EXPECT_EQ(sem_init(&ready, 0, 0), 0);
  for (int i = 0; i < 100; ++i) {
    pthread_t thread = start(finish_at_once, &ready);
    await_ready();
    for (int yields = 0; yields < 10; ++yields) sched_yield();
    EXPECT_EQ(pthread_cancel(thread), 0);
    void* result = NULL;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT(result == &ready);
    // Nor does the request reach a thread that comes after it.
    thread = start(tell_defaults, &blocker);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT(result == &blocker);
  }
}

static void* cancel_oneself(void* argument) {
  EXPECT_EQ(pthread_cancel(pthread_self()), 0);
  pthread_testcancel();
  return argument;
}

CASE(a_thread_can_cancel_itself) {
  for (int i = 0; i < 50; ++i) expect_cancelled(start(cancel_oneself, NULL));
}

static void* cancel_oneself_at_once(void* argument) {
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
  pthread_cancel(pthread_self());
  for (;;) ++spins;
  return argument;
}

CASE(an_asynchronous_thread_cancels_itself_at_once) {
  for (int i = 0; i < 20; ++i) expect_cancelled(start(cancel_oneself_at_once, NULL));
}

static void* become_asynchronous_with_a_request(void* argument) {
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
  EXPECT_EQ(pthread_cancel(pthread_self()), 0);
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  for (;;) ++spins;
  return argument;
}

CASE(a_pending_request_acts_when_cancellation_becomes_asynchronous) {
  for (int i = 0; i < 20; ++i) expect_cancelled(start(become_asynchronous_with_a_request, NULL));
}

static void* wait_asynchronously(void* argument) {
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
  about_to_block(&blocker);
  for (;;) pause();
  return argument;
}

CASE(an_asynchronous_thread_that_sleeps_is_cancelled) {
  for (int i = 0; i < 20; ++i) {
    pthread_t thread = start(wait_asynchronously, NULL);
    wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_cancel(thread), 0);
    expect_cancelled(thread);
  }
}

// What an asynchronous thread waits for, when it is cancelled, and how another one is woken that
// waits for the same after it. (pthread_rwlock_rdlock and pthread_barrier_wait are left out: who is
// cancelled there leaves glibc's own objects unusable.)
static sem_t posted;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER;
static pthread_t sleeper;
enum wait { SEMAPHORE, SEMAPHORE_TIMED, MUTEX, CONDITION, JOIN, WAITS };

static void unlock(void* m) { pthread_mutex_unlock(m); }
static void wait_for(enum wait what) {
  struct timespec at = far_off(CLOCK_REALTIME);
  if (what == CONDITION) EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  about_to_block(&blocker);
  if (what == SEMAPHORE) sem_wait(&posted);
  if (what == SEMAPHORE_TIMED) sem_timedwait(&posted, &at);
  if (what == MUTEX) pthread_mutex_lock(&mutex);
  if (what == CONDITION) {
    pthread_cleanup_push(unlock, &mutex);
    pthread_cond_wait(&signalled, &mutex);
    pthread_cleanup_pop(0);
  }
  if (what == JOIN) pthread_join(sleeper, NULL);
  if (what == MUTEX || what == CONDITION) EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}
static void* wait_for_asynchronously(void* what) {
  EXPECT_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
  wait_for((enum wait)(long)what);
  return NULL;
}
static void* wait_for_it_after(void* what) {
  wait_for((enum wait)(long)what);
  return NULL;
}
static void* sleep_until_cancelled(void* argument) {
  for (;;) pause();
  return argument;
}
static void end_wait(enum wait what) {
  if (what == SEMAPHORE || what == SEMAPHORE_TIMED) EXPECT_EQ(sem_post(&posted), 0);
  if (what == CONDITION) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_cond_signal(&signalled), 0);
  }
  if (what == MUTEX || what == CONDITION) EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  if (what == JOIN) EXPECT_EQ(pthread_cancel(sleeper), 0);
}

CASE(an_asynchronous_thread_leaves_no_wait_behind) {
  EXPECT_EQ(sem_init(&posted, 0, 0), 0);
  for (enum wait what = 0; what < WAITS; ++what) {
    for (int i = 0; i < 20; ++i) {
      sleeper = start(sleep_until_cancelled, NULL);
      if (what == MUTEX) EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      pthread_t thread = start(wait_for_asynchronously, (void*)(long)what);
      wait_until_blocked(&blocker);
      EXPECT_EQ(pthread_cancel(thread), 0);
      expect_cancelled(thread);
      pthread_t next = start(wait_for_it_after, (void*)(long)what);
      wait_until_blocked(&blocker);
      end_wait(what);
      EXPECT_EQ(pthread_join(next, NULL), 0);
      if (what == JOIN) continue;  // the sleeper has been joined
      EXPECT_EQ(pthread_cancel(sleeper), 0);
      expect_cancelled(sleeper);
    }
  }
}

static void* pause_for_ever(void* argument) {
  about_to_block(&blocker);
  for (;;) pause();
  return argument;
}

CASE(requests_can_be_repeated) {
  for (int i = 0; i < 50; ++i) {
    pthread_t thread = start(pause_for_ever, NULL);
    if (i % 2) wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_EQ(pthread_cancel(thread), 0);
    expect_cancelled(thread);
  }
  blocker = 0;
}

static void* be_deferred(void* argument) {
  sem_post(&ready);
  for (unsigned long end = spins + 20000000; spins < end;) ++spins;
  return argument;
}

CASE(a_deferred_compute_loop_runs_to_its_end) {
  EXPECT_EQ(sem_init(&ready, 0, 0), 0);
  pthread_t thread = start(be_deferred, &ready);
  await_ready();
  EXPECT_EQ(pthread_cancel(thread), 0);
  void* result = NULL;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == &ready);
}

static void* cancel_main(void* main_thread) {
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
  EXPECT_EQ(pthread_cancel(*(pthread_t*)main_thread), 0);
  return NULL;
}

CASE(the_main_thread_can_refuse) {
  pthread_t self = pthread_self();
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
  EXPECT_EQ(pthread_join(start(cancel_main, &self), NULL), 0);
  pthread_testcancel();
}  // the last case of the file: the request is pending until the process ends
