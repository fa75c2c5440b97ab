// Detached threads: from creation, by others, by themselves, before and after their end.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "blocked.h"
#include "child.h"
#include "deadline.h"
#include "expect.h"

static sem_t ran, may_end;
static int ended;

static void* note_end(void* argument) {
  __atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
  EXPECT_EQ(sem_post(&ran), 0);
  return argument;
}

static void* wait_for_leave(void* argument) {
  EXPECT_EQ(sem_post(&ran), 0);
  while (sem_wait(&may_end) != 0) {
  }
  return argument;
}

static void reset(void) {
  ended = 0;
  EXPECT_EQ(sem_init(&ran, 0, 0), 0);
  EXPECT_EQ(sem_init(&may_end, 0, 0), 0);
}

static void await(int count) {
  while (count-- > 0) {
    while (sem_wait(&ran) != 0) {
    }
  }
}

static pthread_t start(void* (*body)(void*)) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, NULL), 0);
  return thread;
}

CASE(created_detached_threads_run) {
  enum { COUNT = 300 };
  reset();
  pthread_attr_t attr;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), 0);
  for (int i = 0; i < COUNT; ++i) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, &attr, note_end, NULL), 0);
  }
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  await(COUNT);
  EXPECT_EQ(ended, COUNT);
}

CASE(detached_by_the_creator_at_any_moment) {
  enum { COUNT = 300 };
  reset();
  for (int i = 0; i < COUNT; ++i) {
    pthread_t thread = start(note_end);
    if (i % 3 == 1) sched_yield();
    if (i % 3 == 2) await(1);
    EXPECT_EQ(pthread_detach(thread), 0);
    if (i % 3 != 2) await(1);
  }
  EXPECT_EQ(ended, COUNT);
}

static void* detach_self(void* argument) {
  EXPECT_EQ(pthread_detach(pthread_self()), 0);
  return note_end(argument);
}

CASE(detached_by_itself) {
  enum { COUNT = 300 };
  reset();
  for (int i = 0; i < COUNT; ++i) start(detach_self);
  await(COUNT);
  EXPECT_EQ(ended, COUNT);
}

CASE(a_detached_thread_cannot_be_joined_or_detached_again) {
  reset();
  pthread_t thread = start(wait_for_leave);
  await(1);
  EXPECT_EQ(pthread_detach(thread), 0);
  EXPECT_EQ(pthread_detach(thread), EINVAL);
  EXPECT_EQ(pthread_join(thread, NULL), EINVAL);
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_EQ(pthread_timedjoin_np(thread, NULL, &at), EINVAL);
  EXPECT(pthread_tryjoin_np(thread, NULL) != 0);
  EXPECT_EQ(sem_post(&may_end), 0);
}

CASE(a_finished_thread_can_be_detached) {
  reset();
  for (int i = 0; i < 50; ++i) {
    pthread_t thread = start(note_end);
    await(1);
    for (int yields = 0; yields < 5; ++yields) sched_yield();
    EXPECT_EQ(pthread_detach(thread), 0);
  }
}

CASE(detached_threads_do_not_pile_up) {
  // More than would fit at once: what has ended is given back.
  reset();
  pthread_attr_t attr;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), 0);
  for (int i = 0; i < 5000; ++i) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, &attr, note_end, NULL), 0);
    await(1);
  }
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  EXPECT_EQ(ended, 5000);
}

CASE(detached_and_joined_threads_alternate) {
  reset();
  for (int i = 0; i < 200; ++i) {
    pthread_t detached = start(note_end), joined = start(note_end);
    EXPECT_EQ(pthread_detach(detached), 0);
    void* result = &reset;
    EXPECT_EQ(pthread_join(joined, &result), 0);
    EXPECT(result == NULL);
  }
  await(400);
  EXPECT_EQ(ended, 400);
}

static void leave_detached_running(void) {
  reset();
  pthread_t thread = start(wait_for_leave);
  EXPECT_EQ(pthread_detach(thread), 0);
  await(1);
  exit(3);
}

CASE(exit_does_not_wait_for_detached_threads) {
  EXPECT_EQ(outcome_in_child(leave_detached_running), 3);
}

CASE(detached_threads_can_be_cancelled) {
  reset();
  for (int i = 0; i < 20; ++i) {
    pthread_t thread = start(wait_for_leave);
    await(1);
    EXPECT_EQ(pthread_detach(thread), 0);
    EXPECT_EQ(pthread_cancel(thread), 0);
  }
  int left;
  EXPECT_EQ(sem_getvalue(&may_end, &left), 0);
  EXPECT_EQ(left, 0);
}

static void post_ran(void* unused) {
  (void)unused;
  EXPECT_EQ(sem_post(&ran), 0);
}

static void* wait_for_cancellation(void* unused) {
  static sem_t never;
  pthread_cleanup_push(post_ran, NULL);
  for (;;) sem_wait(&never);
  pthread_cleanup_pop(0);
  return unused;
}

CASE(created_detached_and_cancelled_at_any_moment_they_end) {
  reset();
  pthread_attr_t attr;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), 0);
  for (int i = 0; i < 200; ++i) {
    pthread_t thread;
    int state;
    EXPECT_EQ(pthread_create(&thread, &attr, wait_for_cancellation, NULL), 0);
    pthread_attr_t own;
    EXPECT_EQ(pthread_getattr_np(thread, &own), 0);
    EXPECT_EQ(pthread_attr_getdetachstate(&own, &state), 0);
    EXPECT_EQ(state, PTHREAD_CREATE_DETACHED);
    EXPECT_EQ(pthread_attr_destroy(&own), 0);
    EXPECT_EQ(pthread_detach(thread), EINVAL);
    if (i % 2) sched_yield();
    EXPECT_EQ(pthread_cancel(thread), 0);
  }
  await(200);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
}
