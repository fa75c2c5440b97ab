// C11 threads: thrd_*, mtx_*, cnd_*, tss_* and call_once, with C11's own results for errors.
#include <stdlib.h>
#include <threads.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static mtx_t mutex;
static cnd_t cond, other;

static thrd_t start(int (*body)(void*), void* argument) {
  thrd_t thread;
  EXPECT_EQ(thrd_create(&thread, body, argument), thrd_success);
  return thread;
}

static int join(thrd_t thread) {
  int result = -1;
  EXPECT_EQ(thrd_join(thread, &result), thrd_success);
  return result;
}

static int tell(void* number) { return *(int*)number; }
static int leave(void* number) { thrd_exit(*(int*)number); }

CASE(threads_return_integers) {
  for (int i = -50; i < 50; ++i) {
    EXPECT_EQ(join(start(tell, &i)), i);
    EXPECT_EQ(join(start(leave, &i)), i);
  }
  int one = 1;
  EXPECT_EQ(thrd_join(start(tell, &one), NULL), thrd_success);
}

static thrd_t seen_self;
static int tell_self(void* unused) {
  (void)unused;
  seen_self = thrd_current();
  return 0;
}

CASE(threads_know_themselves) {
  thrd_t thread = start(tell_self, NULL);
  join(thread);
  EXPECT(thrd_equal(thread, seen_self));
  EXPECT(!thrd_equal(thrd_current(), seen_self));
}

static int done;
static int note_done(void* unused) {
  (void)unused;
  __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
  return 0;
}

CASE(detached_threads_end_by_themselves) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(thrd_detach(start(note_done, NULL)), thrd_success);
  while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < 100) thrd_yield();
}

static const int mutex_types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
                                  mtx_timed | mtx_recursive};
static long counter;

static int count(void* unused) {
  (void)unused;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(mtx_lock(&mutex), thrd_success);
    ++counter;
    if (i % 64 == 0) thrd_yield();
    EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
  }
  return 0;
}

static int find_busy(void* unused) {
  (void)unused;
  EXPECT_EQ(mtx_trylock(&mutex), thrd_busy);
  return 0;
}

CASE(mutexes_of_every_type) {
  for (int t = 0; t < 4; ++t) {
    thrd_t threads[5];
    EXPECT_EQ(mtx_init(&mutex, mutex_types[t]), thrd_success);
    counter = 0;
    for (int i = 0; i < 5; ++i) threads[i] = start(count, NULL);
    for (int i = 0; i < 5; ++i) join(threads[i]);
    EXPECT_EQ(counter, 5000);
    EXPECT_EQ(mtx_lock(&mutex), thrd_success);
    join(start(find_busy, NULL));
    EXPECT_EQ(mtx_trylock(&mutex), t >= 2 ? thrd_success : thrd_busy);
    if (t >= 2) EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
    EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
    mtx_destroy(&mutex);
  }
}

static int time_out(void* unused) {
  (void)unused;
  struct timespec at = soon(CLOCK_REALTIME);
  EXPECT_EQ(mtx_timedlock(&mutex, &at), thrd_timedout);
  EXPECT(has_passed(CLOCK_REALTIME, at));
  return 0;
}

CASE(timed_locks) {
  EXPECT_EQ(mtx_init(&mutex, mtx_timed), thrd_success);
  struct timespec at = far_off(CLOCK_REALTIME);
  EXPECT_EQ(mtx_timedlock(&mutex, &at), thrd_success);
  join(start(time_out, NULL));
  EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
  mtx_destroy(&mutex);
}

static int turn;

static int take_turns(void* number) {
  int me = *(int*)number;
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(mtx_lock(&mutex), thrd_success);
    while (turn % 4 != me) EXPECT_EQ(cnd_wait(&cond, &mutex), thrd_success);
    ++turn;
    EXPECT_EQ(cnd_broadcast(&cond), thrd_success);
    EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
  }
  return 0;
}

CASE(condition_variables) {
  int numbers[4] = {0, 1, 2, 3};
  thrd_t threads[4];
  EXPECT_EQ(mtx_init(&mutex, mtx_plain), thrd_success);
  EXPECT_EQ(cnd_init(&cond), thrd_success);
  for (int i = 0; i < 4; ++i) threads[i] = start(take_turns, &numbers[i]);
  for (int i = 0; i < 4; ++i) join(threads[i]);
  EXPECT_EQ(turn, 2000);
  cnd_destroy(&cond);
  mtx_destroy(&mutex);
}

static int ready;

static int signal_other(void* unused) {
  (void)unused;
  EXPECT_EQ(mtx_lock(&mutex), thrd_success);
  ready = 1;
  EXPECT_EQ(cnd_signal(&other), thrd_success);
  EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
  return 0;
}

CASE(timed_condition_variables) {
  EXPECT_EQ(mtx_init(&mutex, mtx_plain), thrd_success);
  EXPECT_EQ(cnd_init(&other), thrd_success);
  EXPECT_EQ(mtx_lock(&mutex), thrd_success);
  struct timespec at = soon(CLOCK_REALTIME);
  EXPECT_EQ(cnd_timedwait(&other, &mutex, &at), thrd_timedout);
  EXPECT(has_passed(CLOCK_REALTIME, at));
  thrd_t thread = start(signal_other, NULL);
  at = far_off(CLOCK_REALTIME);
  while (!ready) EXPECT_EQ(cnd_timedwait(&other, &mutex, &at), thrd_success);
  EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
  join(thread);
  cnd_destroy(&other);
  mtx_destroy(&mutex);
}

static tss_t key;
static int destroyed;

static void destroy(void* value) {
  EXPECT(value == &key);
  ++destroyed;
}

static int set_value(void* value) {
  EXPECT(tss_get(key) == NULL);
  EXPECT_EQ(tss_set(key, value), thrd_success);
  EXPECT(tss_get(key) == value);
  return 0;
}

CASE(storage_of_threads) {
  EXPECT_EQ(tss_create(&key, destroy), thrd_success);
  for (int i = 1; i <= 50; ++i) {
    join(start(set_value, &key));
    EXPECT_EQ(destroyed, i);
    join(start(set_value, NULL));
    EXPECT_EQ(destroyed, i);
  }
  EXPECT_EQ(tss_set(key, &key), thrd_success);
  tss_delete(key);
  EXPECT_EQ(destroyed, 50);
}

static once_flag flag = ONCE_FLAG_INIT;
static int calls;

static void once(void) {
  for (int i = 0; i < 20; ++i) thrd_yield();
  ++calls;
}

static int call(void* unused) {
  (void)unused;
  call_once(&flag, once);
  return calls;
}

CASE(call_once_calls_once_and_all_wait_for_it) {
  thrd_t threads[10];
  for (int i = 0; i < 10; ++i) threads[i] = start(call, NULL);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(join(threads[i]), 1);
}

CASE(sleeping) {
  struct timespec time = {0, SOON_MS * 1000000}, end = soon(CLOCK_REALTIME);
  EXPECT_EQ(thrd_sleep(&time, NULL), 0);
  EXPECT(has_passed(CLOCK_REALTIME, end));
  time.tv_nsec = -1;
  EXPECT(thrd_sleep(&time, NULL) < -1);
}
