// Deferred cancellation at every call that waits: while it is blocked there, and pending before it.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <threads.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static mtx_t c11_mutex;
static cnd_t c11_cond;
static sem_t never;
static pthread_t sleeper;
static int pipe_ends[2];

static void unlock(void* m) { EXPECT_EQ(pthread_mutex_unlock(m), 0); }

static void on_testcancel(void) {
  for (;;) {
    pthread_testcancel();
    sched_yield();
  }
}

static void in_cond_wait(void) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  for (;;) pthread_cond_wait(&cond, &mutex);
  pthread_cleanup_pop(0);
}

static void in_cond_timedwait(void) {
  struct timespec at = far_off(CLOCK_REALTIME);
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  for (;;) pthread_cond_timedwait(&cond, &mutex, &at);
  pthread_cleanup_pop(0);
}

static void in_cond_clockwait(void) {
  struct timespec at = far_off(CLOCK_MONOTONIC);
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  for (;;) pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &at);
  pthread_cleanup_pop(0);
}

static void unlock_c11(void* m) { EXPECT_EQ(mtx_unlock(m), thrd_success); }

static void in_cnd_wait(void) {
  mtx_lock(&c11_mutex);
  pthread_cleanup_push(unlock_c11, &c11_mutex);
  for (;;) cnd_wait(&c11_cond, &c11_mutex);
  pthread_cleanup_pop(0);
}

static void in_sem_wait(void) { sem_wait(&never); }

static void in_sem_timedwait(void) {
  struct timespec at = far_off(CLOCK_REALTIME);
  sem_timedwait(&never, &at);
}

static void in_sem_clockwait(void) {
  struct timespec at = far_off(CLOCK_MONOTONIC);
  sem_clockwait(&never, CLOCK_MONOTONIC, &at);
}

static void in_join(void) { pthread_join(sleeper, NULL); }

static void in_timedjoin(void) {
  struct timespec at = far_off(CLOCK_REALTIME);
  pthread_timedjoin_np(sleeper, NULL, &at);
}

static void in_clockjoin(void) {
  struct timespec at = far_off(CLOCK_MONOTONIC);
  pthread_clockjoin_np(sleeper, NULL, CLOCK_MONOTONIC, &at);
}

static void in_sleep(void) { sleep(300); }
static void in_usleep(void) { usleep(300000000); }
static void in_pause(void) { pause(); }
static void in_poll(void) { poll(NULL, 0, -1); }

static void in_nanosleep(void) {
  struct timespec time = {300, 0};
  nanosleep(&time, NULL);
}

static void in_clock_nanosleep(void) {
  struct timespec at = far_off(CLOCK_MONOTONIC);
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void in_thrd_sleep(void) {
  struct timespec time = {300, 0};
  thrd_sleep(&time, NULL);
}

static void in_read(void) {
  char byte;
  EXPECT(read(pipe_ends[0], &byte, 1) != 1);
}

static void in_sigwait(void) {
  sigset_t set;
  int number;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigwait(&set, &number);
}

static const struct point {
  const char* name;
  void (*wait)(void);
} points[] = {
    {"pthread_testcancel", on_testcancel},
    {"pthread_cond_wait", in_cond_wait},
    {"pthread_cond_timedwait", in_cond_timedwait},
    {"pthread_cond_clockwait", in_cond_clockwait},
    {"cnd_wait", in_cnd_wait},
    {"sem_wait", in_sem_wait},
    {"sem_timedwait", in_sem_timedwait},
    {"sem_clockwait", in_sem_clockwait},
    {"pthread_join", in_join},
    {"pthread_timedjoin_np", in_timedjoin},
    {"pthread_clockjoin_np", in_clockjoin},
    {"sleep", in_sleep},
    {"usleep", in_usleep},
    {"nanosleep", in_nanosleep},
    {"clock_nanosleep", in_clock_nanosleep},
    {"thrd_sleep", in_thrd_sleep},
    {"pause", in_pause},
    {"poll", in_poll},
    {"read", in_read},
    {"sigwait", in_sigwait},
};
enum { POINTS = sizeof points / sizeof *points };

static pid_t blocker;
static int cleaned;

static void note_cleanup(void* unused) {
  (void)unused;
  ++cleaned;
}

static void* wait_there(void* point) {
  pthread_cleanup_push(note_cleanup, NULL);
  about_to_block(&blocker);
  ((const struct point*)point)->wait();
  pthread_cleanup_pop(0);
  return NULL;
}

static void* wait_with_cancel_pending(void* point) {
  int state;
  pthread_cleanup_push(note_cleanup, NULL);
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state), 0);
  EXPECT_EQ(pthread_cancel(pthread_self()), 0);
  pthread_testcancel();
  EXPECT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
  ((const struct point*)point)->wait();
  pthread_cleanup_pop(0);
  return NULL;
}

static void* sleep_for_ever(void* argument) {
  for (;;) sleep(300);
  return argument;
}

// Starts a thread there, cancels it, and requires that it was cancelled.
static void expect_cancelled(const struct point* point, void* (*body)(void*), int cancel) {
  pthread_t thread;
  void* result = NULL;
  cleaned = 0;
  blocker = 0;
  EXPECT_EQ(pthread_create(&thread, NULL, body, (void*)point), 0);
  if (cancel) {
    wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_cancel(thread), 0);
  }
  EXPECT_EQ(pthread_join(thread, &result), 0);
  if (result != PTHREAD_CANCELED || cleaned != 1) {
    expect_fail(point->name, 0, "a cancelled thread, whose handler ran once");
  }
  // Whatever it waited for is as it was.
  EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void prepare(void) {
  EXPECT_EQ(sem_init(&never, 0, 0), 0);
  EXPECT_EQ(mtx_init(&c11_mutex, mtx_plain), thrd_success);
  EXPECT_EQ(cnd_init(&c11_cond), thrd_success);
  EXPECT_EQ(pipe(pipe_ends), 0);
  EXPECT_EQ(pthread_create(&sleeper, NULL, sleep_for_ever, NULL), 0);
}

static void tidy(void) {
  EXPECT_EQ(pthread_cancel(sleeper), 0);
  EXPECT_EQ(pthread_join(sleeper, NULL), 0);
  cnd_destroy(&c11_cond);
  mtx_destroy(&c11_mutex);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

CASE(a_blocked_thread_is_cancelled) {
  prepare();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < POINTS; ++i) expect_cancelled(&points[i], wait_there, 1);
  }
  tidy();
}

CASE(a_pending_request_acts_at_the_next_point) {
  prepare();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < POINTS; ++i) expect_cancelled(&points[i], wait_with_cancel_pending, 0);
  }
  tidy();
}

CASE(cancelled_at_any_moment_before_or_in_the_wait) {
  prepare();
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < POINTS; ++i) {
      pthread_t thread;
      void* result = NULL;
      EXPECT_EQ(pthread_create(&thread, NULL, wait_there, (void*)&points[i]), 0);
      for (int yields = 0; yields < round % 4; ++yields) sched_yield();
      EXPECT_EQ(pthread_cancel(thread), 0);
      EXPECT_EQ(pthread_join(thread, &result), 0);
      EXPECT(result == PTHREAD_CANCELED);
    }
  }
  tidy();
}
