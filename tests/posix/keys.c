// Thread-specific data: values are NULL in new threads and for new keys, destructors run in rounds
// at the end of a thread and never for keys without a value or after their deletion; pthread_once.
#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "expect.h"

static int calls;
static pthread_key_t key, other_key;

static void run(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

static void count(void* value) {
  EXPECT(value != NULL);
  ++calls;
}

static void* set_value(void* value) {
  EXPECT(pthread_getspecific(key) == NULL);
  EXPECT_EQ(pthread_setspecific(key, value), 0);
  EXPECT(pthread_getspecific(key) == value);
  return NULL;
}

CASE(a_key_nobody_created_is_refused) {
  pthread_key_t never = 0;
  EXPECT_EQ(pthread_setspecific(never, &never), EINVAL);
}

CASE(values_are_null_in_new_threads) {
  EXPECT_EQ(pthread_key_create(&key, NULL), 0);
  EXPECT(pthread_getspecific(key) == NULL);
  EXPECT_EQ(pthread_setspecific(key, "main"), 0);
  for (int i = 0; i < 100; ++i) run(set_value, &calls);
  EXPECT_EQ(strcmp(pthread_getspecific(key), "main"), 0);
  EXPECT_EQ(pthread_key_delete(key), 0);
}

CASE(destructors_run_once_for_each_value) {
  EXPECT_EQ(pthread_key_create(&key, count), 0);
  calls = 0;
  for (int i = 1; i <= 100; ++i) {
    run(set_value, &calls);
    EXPECT_EQ(calls, i);
    run(set_value, NULL);  // no value, no call
    EXPECT_EQ(calls, i);
  }
  EXPECT_EQ(pthread_key_delete(key), 0);
}

static void expect_cleared(void* value) {
  EXPECT(pthread_getspecific(key) == NULL);
  *(int*)value += 1;
}

CASE(the_value_is_null_while_its_destructor_runs) {
  int runs = 0;
  EXPECT_EQ(pthread_key_create(&key, expect_cleared), 0);
  run(set_value, &runs);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(pthread_key_delete(key), 0);
}

static void set_again(void* value) {
  ++calls;
  EXPECT_EQ(pthread_setspecific(key, value), 0);
}

CASE(destructors_that_set_values_get_a_limited_number_of_rounds) {
  EXPECT_EQ(pthread_key_create(&key, set_again), 0);
  for (int i = 0; i < 20; ++i) {
    calls = 0;
    run(set_value, &calls);
    EXPECT_EQ(calls, PTHREAD_DESTRUCTOR_ITERATIONS);
  }
  EXPECT_EQ(pthread_key_delete(key), 0);
}

static char order[16];

static void set_other(void* value) {
  strcat(order, "a");
  EXPECT_EQ(pthread_setspecific(other_key, value), 0);
}

static void note_other(void* value) {
  (void)value;
  strcat(order, "b");
}

CASE(values_set_by_a_destructor_are_destroyed_too) {
  for (int i = 0; i < 20; ++i) {
    order[0] = 0;
    EXPECT_EQ(pthread_key_create(&other_key, note_other), 0);
    EXPECT_EQ(pthread_key_create(&key, set_other), 0);
    run(set_value, order);
    EXPECT_EQ(strcmp(order, "ab"), 0);
    EXPECT_EQ(pthread_key_delete(key), 0);
    EXPECT_EQ(pthread_key_delete(other_key), 0);
  }
}

static pthread_barrier_t gate;

static void* hold_value(void* value) {
  EXPECT_EQ(pthread_setspecific(key, value), 0);
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);  // meanwhile the key is deleted, and perhaps created again
  EXPECT(pthread_getspecific(other_key) == NULL);
  return NULL;
}

CASE(a_deleted_key_calls_no_destructor_and_a_new_one_has_no_value) {
  EXPECT_EQ(pthread_barrier_init(&gate, NULL, 2), 0);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    calls = 0;
    EXPECT_EQ(pthread_key_create(&key, count), 0);
    EXPECT_EQ(pthread_create(&thread, NULL, hold_value, &calls), 0);
    pthread_barrier_wait(&gate);
    EXPECT_EQ(pthread_key_delete(key), 0);
    EXPECT_EQ(pthread_key_create(&other_key, count), 0);  // most likely the same number
    pthread_barrier_wait(&gate);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(pthread_key_delete(other_key), 0);
  }
  EXPECT_EQ(pthread_barrier_destroy(&gate), 0);
}

CASE(unknown_keys_are_refused) {
  EXPECT_EQ(pthread_setspecific(PTHREAD_KEYS_MAX, &key), EINVAL);
  EXPECT_EQ(pthread_key_delete(PTHREAD_KEYS_MAX), EINVAL);
  EXPECT(pthread_getspecific(PTHREAD_KEYS_MAX) == NULL);
  EXPECT_EQ(pthread_key_create(&key, NULL), 0);
  EXPECT_EQ(pthread_key_delete(key), 0);
  EXPECT_EQ(pthread_key_delete(key), EINVAL);
  EXPECT_EQ(pthread_setspecific(key, &key), EINVAL);
}

static pthread_key_t all[PTHREAD_KEYS_MAX];
static int n_all;

static void* use_all(void* unused) {
  for (int i = 0; i < n_all; ++i) {
    EXPECT(pthread_getspecific(all[i]) == NULL);
    EXPECT_EQ(pthread_setspecific(all[i], &all[i]), 0);
  }
  for (int i = 0; i < n_all; ++i) EXPECT(pthread_getspecific(all[i]) == &all[i]);
  return unused;
}

CASE(keys_run_out_with_eagain_and_all_of_them_work) {
  int error;
  calls = 0;
  n_all = 0;
  while ((error = pthread_key_create(&all[n_all], count)) == 0) {
    ++n_all;
    EXPECT(n_all <= PTHREAD_KEYS_MAX);
  }
  EXPECT_EQ(error, EAGAIN);
  EXPECT(n_all >= _POSIX_THREAD_KEYS_MAX);
  for (int i = 1; i <= 20; ++i) {
    run(use_all, NULL);
    EXPECT_EQ(calls, i * n_all);
  }
  for (int i = 0; i < n_all; ++i) EXPECT_EQ(pthread_key_delete(all[i]), 0);
}

static void* create_in_thread(void* unused) {
  EXPECT_EQ(pthread_key_create(&key, count), 0);
  EXPECT_EQ(pthread_setspecific(key, &key), 0);
  return unused;
}

CASE(keys_made_in_one_thread_work_in_all) {
  for (int i = 0; i < 20; ++i) {
    calls = 0;
    run(create_in_thread, NULL);
    EXPECT_EQ(calls, 1);
    run(set_value, &calls);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(pthread_key_delete(key), 0);
  }
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_once(void) {
  ++calls;
  for (int i = 0; i < 20; ++i) sched_yield();
}

static void* use_once(void* unused) {
  EXPECT_EQ(pthread_once(&once, init_once), 0);
  EXPECT_EQ(calls, 1);
  return unused;
}

CASE(once_runs_once_and_everybody_waits_for_it) {
  for (int round = 0; round < 20; ++round) {
    pthread_t threads[10];
    once = (pthread_once_t)PTHREAD_ONCE_INIT;
    calls = 0;
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(pthread_create(&threads[i], NULL, use_once, NULL), 0);
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT_EQ(calls, 1);
  }
}

static int cancel_in_init;

static void init_and_be_cancelled(void) {
  ++calls;
  if (!cancel_in_init) return;
  cancel_in_init = 0;
  EXPECT_EQ(pthread_cancel(pthread_self()), 0);
  pthread_testcancel();
}

static void* once_with_cancel(void* unused) {
  EXPECT_EQ(pthread_once(&once, init_and_be_cancelled), 0);
  return unused;
}

CASE(a_cancelled_once_is_tried_again) {
  once = (pthread_once_t)PTHREAD_ONCE_INIT;
  calls = 0;
  cancel_in_init = 1;
  run(once_with_cancel, NULL);
  run(once_with_cancel, NULL);
  run(once_with_cancel, NULL);
  EXPECT_EQ(calls, 2);
}
