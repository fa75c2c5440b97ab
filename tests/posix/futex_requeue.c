// FUTEX_REQUEUE, FUTEX_CMP_REQUEUE and FUTEX_WAKE_OP through syscall(): who is woken, who is moved,
// and what the calls return. FUTEX_LOCK_PI and its kin work as well.
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

enum { WAITERS = 6 };
static uint32_t from, to;
static int woken;
static pid_t blocker;

static long two_words(int operation, uint32_t value, long value2, uint32_t* second,
                      uint32_t value3) {
  return syscall(SYS_futex, &from, operation | FUTEX_PRIVATE_FLAG, value, value2, second, value3);
}

static long wake(uint32_t* word, int count) {
  return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

// One wait that is ended by a wake, on whichever word it then is.
static void* wait_once(void* unused) {
  about_to_block(&blocker);
  long result;
  do {
    result = syscall(SYS_futex, &from, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  } while (result != 0 && errno == EINTR);
  EXPECT_EQ(result, 0);
  __atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
  return unused;
}

static pthread_t threads[WAITERS];

// Wakes that reach nobody are repeated: a waiter may not have gone to sleep yet.
static void wake_one(uint32_t* word) {
  while (wake(word, 1) == 0) sched_yield();
}

static void start_waiters(int count) {
  from = to = 0;
  woken = 0;
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(pthread_create(&threads[i], NULL, wait_once, NULL), 0);
    wait_until_blocked(&blocker);
  }
}

static void join_waiters(int count) {
  for (int i = 0; i < count; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(woken, count);
  EXPECT_EQ(wake(&from, 1), 0);
  EXPECT_EQ(wake(&to, 1), 0);
}

// Wakes one and moves two at a time until all are accounted for, whenever they go to sleep.
static void requeue_all(int operation, int count) {
  int moved = 0;
  for (int reached = 0; reached < count;) {
    long n = two_words(operation, 1, 2, &to, 0);  // woken and moved together
    EXPECT(n >= 0 && n <= 3);
    reached += (int)n;
    if (n > 1) moved += (int)n - 1;
    sched_yield();
  }
  for (int i = 0; i < moved; ++i) wake_one(&to);
}

CASE(requeued_waiters_are_woken_on_the_second_word) {
  for (int i = 0; i < 10; ++i) {
    start_waiters(WAITERS);
    requeue_all(i % 2 ? FUTEX_CMP_REQUEUE : FUTEX_REQUEUE, WAITERS);
    join_waiters(WAITERS);
  }
}

CASE(requeued_waiters_no_longer_wait_on_the_first) {
  for (int i = 0; i < 10; ++i) {
    start_waiters(2);
    int moved = 0;
    while (moved < 2) {
      long n = two_words(FUTEX_CMP_REQUEUE, 0, INT32_MAX, &to, 0);  // wakes nobody
      EXPECT(n >= 0);
      moved += (int)n;
      sched_yield();
    }
    EXPECT_EQ(moved, 2);
    EXPECT_EQ(__atomic_load_n(&woken, __ATOMIC_SEQ_CST), 0);
    EXPECT_EQ(wake(&from, INT32_MAX), 0);
    EXPECT_EQ(wake(&to, INT32_MAX), 2);
    join_waiters(2);
  }
}

CASE(a_changed_word_is_not_requeued) {
  start_waiters(1);
  EXPECT_ERRNO(two_words(FUTEX_CMP_REQUEUE, 1, INT32_MAX, &to, 77), EAGAIN);
  EXPECT_EQ(wake(&to, 1), 0);
  wake_one(&from);
  join_waiters(1);
}

CASE(nobody_to_requeue_is_zero) {
  from = to = 0;
  errno = 4711;
  EXPECT_EQ(two_words(FUTEX_REQUEUE, 1, 1, &to, 0), 0);
  EXPECT_EQ(two_words(FUTEX_CMP_REQUEUE, 1, 1, &to, 0), 0);
  EXPECT_EQ(errno, 4711);
}

static void* wait_with_deadline(void* unused) {
  struct timespec at = soon(CLOCK_MONOTONIC);
  about_to_block(&blocker);
  EXPECT_ERRNO(syscall(SYS_futex, &from, FUTEX_WAIT_BITSET_PRIVATE, 0, &at, NULL, ~0u), ETIMEDOUT);
  EXPECT(has_passed(CLOCK_MONOTONIC, at));
  return unused;
}

CASE(a_requeued_waiter_still_times_out) {
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    from = to = 0;
    EXPECT_EQ(pthread_create(&thread, NULL, wait_with_deadline, NULL), 0);
    wait_until_blocked(&blocker);
    EXPECT(two_words(FUTEX_CMP_REQUEUE, 0, 1, &to, 0) <= 1);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT_EQ(wake(&from, 1), 0);
    EXPECT_EQ(wake(&to, 1), 0);
  }
}

CASE(wake_op_changes_a_word_and_wakes_on_both) {
  from = 0;
  to = 5;
  // to += 3; wake 1 on from, and 1 on to as its old value was less than 9.
  uint32_t add = FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_LT, 9);
  EXPECT_EQ(two_words(FUTEX_WAKE_OP, 1, 1, &to, add), 0);
  EXPECT_EQ(to, 8);
  start_waiters(1);
  to = 5;
  long n;
  while ((n = two_words(FUTEX_WAKE_OP, 1, 1, &to, add)) == 0) sched_yield();
  EXPECT_EQ(n, 1);
  EXPECT(to >= 8);
  EXPECT_EQ(pthread_join(threads[0], NULL), 0);
}

static uint32_t pi_word;
static long counter;

static void* count_under_pi(void* unused) {
  for (int i = 0; i < 300; ++i) {
    uint32_t free = 0, me = (uint32_t)gettid();
    if (!__atomic_compare_exchange_n(&pi_word, &free, me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      EXPECT_EQ(syscall(SYS_futex, &pi_word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0), 0);
    }
    ++counter;
    if (i % 16 == 0) sched_yield();
    if (!__atomic_compare_exchange_n(&pi_word, &me, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      EXPECT_EQ(syscall(SYS_futex, &pi_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0), 0);
    }
  }
  return unused;
}

CASE(priority_inheriting_futexes) {
  pthread_t workers[4];
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(pthread_create(&workers[i], NULL, count_under_pi, NULL), 0);
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pthread_join(workers[i], NULL), 0);
  EXPECT_EQ(counter, 1200);
  EXPECT_EQ(pi_word, 0);
}
