// pthread_create and the joins: values handed over, errors, deadlines on both clocks.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_barrier_t gate;

static void* echo(void* argument) { return argument; }

static void* wait_at_gate(void* argument) {
  pthread_barrier_wait(&gate);
  return argument;
}

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static pthread_t start_at_gate(void* argument) {
  EXPECT_EQ(pthread_barrier_init(&gate, NULL, 2), 0);
  return start(wait_at_gate, argument);
}

static void open_gate(void) {
  pthread_barrier_wait(&gate);
  EXPECT_EQ(pthread_barrier_destroy(&gate), 0);
}

CASE(join_hands_over_the_return_value) {
  for (intptr_t i = -3; i < 200; ++i) {
    void* result = &result;
    EXPECT_EQ(pthread_join(start(echo, (void*)i), &result), 0);
    EXPECT_EQ(result, i);
  }
}

CASE(join_may_ignore_the_value) { EXPECT_EQ(pthread_join(start(echo, NULL), NULL), 0); }

CASE(many_at_once_joined_in_reverse) {
  enum { COUNT = 150 };
  static pthread_t threads[COUNT];
  for (int i = 0; i < COUNT; ++i) threads[i] = start(echo, &threads[i]);
  for (int i = COUNT - 1; i >= 0; --i) {
    void* result = NULL;
    EXPECT_EQ(pthread_join(threads[i], &result), 0);
    EXPECT(result == &threads[i]);
  }
}

CASE(threads_alive_together_have_distinct_ids) {
  enum { COUNT = 20 };
  pthread_t threads[COUNT];
  EXPECT_EQ(pthread_barrier_init(&gate, NULL, COUNT + 1), 0);
  for (int i = 0; i < COUNT; ++i) threads[i] = start(wait_at_gate, NULL);
  for (int i = 0; i < COUNT; ++i) {
    EXPECT(!pthread_equal(threads[i], pthread_self()));
    for (int j = 0; j < i; ++j) EXPECT(!pthread_equal(threads[i], threads[j]));
  }
  open_gate();
  for (int i = 0; i < COUNT; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

static pthread_t seen_self;
static void* tell_self(void* argument) {
  seen_self = pthread_self();
  return argument;
}

CASE(self_is_what_create_returned) {
  for (int i = 0; i < 50; ++i) {
    pthread_t thread = start(tell_self, NULL);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT(pthread_equal(thread, seen_self));
  }
}

static void* add_one(void* count) {
  ++*(int*)count;
  return NULL;
}

CASE(what_the_thread_wrote_is_seen_after_join) {
  int count = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(pthread_join(start(add_one, &count), NULL), 0);
    EXPECT_EQ(count, i + 1);
  }
}

CASE(tryjoin_of_a_running_thread_is_busy) {
  pthread_t thread = start_at_gate(&gate);
  void* result = NULL;
  EXPECT_EQ(pthread_tryjoin_np(thread, &result), EBUSY);
  EXPECT_EQ(pthread_tryjoin_np(thread, &result), EBUSY);
  EXPECT(result == NULL);
  open_gate();
  int error;
  while ((error = pthread_tryjoin_np(thread, &result)) == EBUSY) sched_yield();
  EXPECT_EQ(error, 0);
  EXPECT(result == &gate);
}

CASE(timed_joins_time_out_and_can_be_repeated) {
  pthread_t thread = start_at_gate(&gate);
  struct timespec at = soon(CLOCK_REALTIME);
  EXPECT_EQ(pthread_timedjoin_np(thread, NULL, &at), ETIMEDOUT);
  EXPECT(has_passed(CLOCK_REALTIME, at));
  EXPECT_EQ(pthread_timedjoin_np(thread, NULL, &at), ETIMEDOUT);
  at = soon(CLOCK_MONOTONIC);
  EXPECT_EQ(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &at), ETIMEDOUT);
  EXPECT(has_passed(CLOCK_MONOTONIC, at));
  at = soon(CLOCK_REALTIME);
  EXPECT_EQ(pthread_clockjoin_np(thread, NULL, CLOCK_REALTIME, &at), ETIMEDOUT);
  EXPECT(has_passed(CLOCK_REALTIME, at));
  open_gate();
  void* result = NULL;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == &gate);
}

CASE(timed_joins_of_an_ending_thread_succeed) {
  struct timespec real = far_off(CLOCK_REALTIME), monotonic = far_off(CLOCK_MONOTONIC);
  for (int i = 0; i < 100; ++i) {
    void* result = NULL;
    EXPECT_EQ(pthread_timedjoin_np(start(echo, &gate), &result, &real), 0);
    EXPECT(result == &gate);
    result = NULL;
    EXPECT_EQ(pthread_clockjoin_np(start(echo, &gate), &result, CLOCK_MONOTONIC, &monotonic), 0);
    EXPECT(result == &gate);
    result = NULL;
    EXPECT_EQ(pthread_clockjoin_np(start(echo, &gate), &result, CLOCK_REALTIME, &real), 0);
    EXPECT(result == &gate);
  }
}

CASE(timed_joins_without_a_deadline_wait) {
  EXPECT_EQ(pthread_timedjoin_np(start(echo, NULL), NULL, NULL), 0);
  EXPECT_EQ(pthread_clockjoin_np(start(echo, NULL), NULL, CLOCK_MONOTONIC, NULL), 0);
}

CASE(clockjoin_refuses_clocks_it_cannot_wait_on) {
  pthread_t thread = start_at_gate(NULL);
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_EQ(pthread_clockjoin_np(thread, NULL, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
  EXPECT_EQ(pthread_clockjoin_np(thread, NULL, 4711, &at), EINVAL);
  open_gate();
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

CASE(join_of_oneself_is_a_deadlock) {
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
  EXPECT_EQ(pthread_timedjoin_np(pthread_self(), NULL, &at), EDEADLK);
}

static pthread_t first;
static pid_t joiner_tid;

static void* join_first(void* argument) {
  about_to_block(&joiner_tid);
  EXPECT_EQ(pthread_join(first, NULL), 0);
  return argument;
}

CASE(a_cancelled_join_leaves_the_thread_joinable) {
  first = start_at_gate(&gate);
  pthread_t joiner = start(join_first, NULL);
  void* result = NULL;
  wait_until_blocked(&joiner_tid);
  EXPECT_EQ(pthread_cancel(joiner), 0);
  EXPECT_EQ(pthread_join(joiner, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
  EXPECT_EQ(pthread_tryjoin_np(first, &result), EBUSY);
  open_gate();
  EXPECT_EQ(pthread_join(first, &result), 0);
  EXPECT(result == &gate);
}

CASE(a_thread_that_joins_us_can_be_joined_once_it_is_cancelled) {
  first = pthread_self();
  for (int i = 0; i < 20; ++i) {
    pthread_t joiner = start(join_first, NULL);
    void* result = NULL;
    wait_until_blocked(&joiner_tid);
    EXPECT_EQ(pthread_cancel(joiner), 0);
    EXPECT_EQ(pthread_join(joiner, &result), 0);
    EXPECT(result == PTHREAD_CANCELED);
  }
}

CASE(a_thread_can_be_joined_by_another_than_its_creator) {
  for (int i = 0; i < 50; ++i) {
    first = start(echo, NULL);
    EXPECT_EQ(pthread_join(start(join_first, NULL), NULL), 0);
  }
}

CASE(joining_leaves_errno_alone) {
  errno = 4711;
  EXPECT_EQ(pthread_join(start(echo, NULL), NULL), 0);
  EXPECT_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
  EXPECT_EQ(errno, 4711);
}

static void* tree(void* depth) {
  intptr_t below = (intptr_t)depth - 1, sum = 1;
  for (int i = 0; i < 2 && below > 0; ++i) {
    void* leaves = NULL;
    EXPECT_EQ(pthread_join(start(tree, (void*)below), &leaves), 0);
    sum += (intptr_t)leaves;
  }
  return (void*)sum;
}

CASE(threads_create_and_join_threads) { EXPECT_EQ((intptr_t)tree((void*)8), 255); }
