// The futex system call through syscall(): waits, wakes, bitsets, deadlines and errors, in private
// and in shared memory.
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "blocked.h"
#include "child.h"
#include "deadline.h"
#include "expect.h"
#include "handled.h"

static uint32_t private_word;
static uint32_t* shared_word;
static pid_t blocker;

// A word to wait on and the flag that goes with it.
static const int scopes[] = {FUTEX_PRIVATE_FLAG, 0};
enum { SCOPES = 2 };
static int scope;

static uint32_t* word(void) {
  if (!shared_word) {
    shared_word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(shared_word != MAP_FAILED);
  }
  return scope ? &private_word : shared_word;
}

#define FOR_EACH_SCOPE \
  for (int scope_index = 0; scope_index < SCOPES && (scope = scopes[scope_index], 1); ++scope_index)

static long futex(int operation, uint32_t value, const struct timespec* time, uint32_t bits) {
  return syscall(SYS_futex, word(), operation | scope, value, time, NULL, bits);
}

static void set(uint32_t value) { __atomic_store_n(word(), value, __ATOMIC_SEQ_CST); }

static long wake(int count) { return futex(FUTEX_WAKE, (uint32_t)count, NULL, 0); }

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

CASE(a_changed_word_is_not_waited_on) {
  FOR_EACH_SCOPE {
    struct timespec relative = {300, 0}, at = far_off(CLOCK_MONOTONIC);
    set(5);
    EXPECT_ERRNO(futex(FUTEX_WAIT, 4, NULL, 0), EAGAIN);
    EXPECT_ERRNO(futex(FUTEX_WAIT, 4, &relative, 0), EAGAIN);
    EXPECT_ERRNO(futex(FUTEX_WAIT_BITSET, 4, NULL, ~0u), EAGAIN);
    EXPECT_ERRNO(futex(FUTEX_WAIT_BITSET, 4, &at, ~0u), EAGAIN);
  }
}

CASE(waking_nobody_is_zero) {
  FOR_EACH_SCOPE {
    errno = 4711;
    EXPECT_EQ(wake(1), 0);
    EXPECT_EQ(wake(INT32_MAX), 0);
    EXPECT_EQ(futex(FUTEX_WAKE_BITSET, 1, NULL, 1), 0);
    EXPECT_EQ(errno, 4711);
  }
}

CASE(relative_times_time_out) {
  FOR_EACH_SCOPE {
    struct timespec time = {0, SOON_MS * 1000000}, end = soon(CLOCK_MONOTONIC);
    set(1);
    EXPECT_ERRNO(futex(FUTEX_WAIT, 1, &time, 0), ETIMEDOUT);
    EXPECT(has_passed(CLOCK_MONOTONIC, end));
    EXPECT_ERRNO(futex(FUTEX_WAIT, 1, &(struct timespec){0, 0}, 0), ETIMEDOUT);
  }
}

CASE(absolute_times_time_out) {
  FOR_EACH_SCOPE {
    set(1);
    struct timespec at = soon(CLOCK_MONOTONIC);
    EXPECT_ERRNO(futex(FUTEX_WAIT_BITSET, 1, &at, 1), ETIMEDOUT);
    EXPECT(has_passed(CLOCK_MONOTONIC, at));
    EXPECT_ERRNO(futex(FUTEX_WAIT_BITSET, 1, &at, 1), ETIMEDOUT);
    at = soon(CLOCK_REALTIME);
    EXPECT_ERRNO(futex(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 1, &at, 1), ETIMEDOUT);
    EXPECT(has_passed(CLOCK_REALTIME, at));
  }
}

CASE(errors_are_told) {
  FOR_EACH_SCOPE {
    struct timespec bad = {0, 1000000000};
    set(1);
    EXPECT_ERRNO(futex(FUTEX_WAIT, 1, &bad, 0), EINVAL);
    bad = (struct timespec){0, -1};
    EXPECT_ERRNO(futex(FUTEX_WAIT_BITSET, 1, &bad, 1), EINVAL);
    bad = (struct timespec){-1, 0};
    EXPECT_ERRNO(futex(FUTEX_WAIT, 1, &bad, 0), EINVAL);
    EXPECT_ERRNO(futex(FUTEX_WAIT_BITSET, 1, NULL, 0), EINVAL);
    EXPECT_ERRNO(futex(FUTEX_WAKE_BITSET, 1, NULL, 0), EINVAL);
    EXPECT_ERRNO(futex(99, 1, NULL, 0), ENOSYS);
    EXPECT_ERRNO(syscall(SYS_futex, (char*)word() + 1, FUTEX_WAIT | scope, 1, NULL, NULL, 0),
                 EINVAL);
    EXPECT_ERRNO(syscall(SYS_futex, (char*)word() + 1, FUTEX_WAKE | scope, 1, NULL, NULL, 0),
                 EINVAL);
  }
}

static int woken;

// Waits until the word is 0; every return with 0 is counted.
static void* wait_while_set(void* bits) {
  uint32_t value;
  about_to_block(&blocker);
  while ((value = __atomic_load_n(word(), __ATOMIC_SEQ_CST)) != 0) {
    long result = bits ? futex(FUTEX_WAIT_BITSET, value, NULL, (uint32_t)(uintptr_t)bits)
                       : futex(FUTEX_WAIT, value, NULL, 0);
    EXPECT(result == 0 || errno == EAGAIN || errno == EINTR);
  }
  __atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

CASE(a_wake_wakes) {
  for (int i = 0; i < 40; ++i) {
    scope = scopes[i % 2];
    set(1);
    pthread_t thread = start(wait_while_set, i % 4 < 2 ? NULL : (void*)1);
    wait_until_blocked(&blocker);
    set(0);
    long n = wake(1);
    EXPECT(n == 0 || n == 1);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
}

enum { MANY = 16 };

CASE(wakes_are_counted_and_reach_as_many) {
  FOR_EACH_SCOPE {
    pthread_t threads[MANY];
    int slept = 0;
    set(1);
    woken = 0;
    for (int i = 0; i < MANY; ++i) threads[i] = start(wait_while_set, NULL);
    set(0);
    // Whoever has not gone to sleep yet will not: together with the woken, these are all.
    while (__atomic_load_n(&woken, __ATOMIC_SEQ_CST) < MANY) {
      long n = wake(3);
      EXPECT(n >= 0 && n <= 3);
      slept += (int)n;
      sched_yield();
    }
    EXPECT(slept <= MANY);
    for (int i = 0; i < MANY; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT_EQ(wake(1), 0);
  }
}

static uint32_t bits_seen;

static void* wait_for_bits(void* bits) {
  uint32_t mine = (uint32_t)(uintptr_t)bits;
  about_to_block(&blocker);
  while (!(__atomic_load_n(&bits_seen, __ATOMIC_SEQ_CST) & mine)) {
    EXPECT(futex(FUTEX_WAIT_BITSET, 1, NULL, mine) == 0 || errno == EINTR);
  }
  return NULL;
}

CASE(bitsets_choose_whom_to_wake) {
  FOR_EACH_SCOPE {
    for (int i = 0; i < 10; ++i) {
      set(1);
      bits_seen = 0;
      pthread_t two = start(wait_for_bits, (void*)2);
      wait_until_blocked(&blocker);
      pthread_t four = start(wait_for_bits, (void*)4);
      wait_until_blocked(&blocker);
      EXPECT_EQ(futex(FUTEX_WAKE_BITSET, INT32_MAX, NULL, 8), 0);
      bits_seen = 4;
      do {
        EXPECT(futex(FUTEX_WAKE_BITSET, INT32_MAX, NULL, 4) <= 1);
        sched_yield();
      } while (pthread_tryjoin_np(four, NULL) == EBUSY);
      EXPECT_EQ(pthread_tryjoin_np(two, NULL), EBUSY);
      bits_seen = 2;
      do {
        EXPECT(wake(1) <= 1);  // a plain wake matches every bit
        sched_yield();
      } while (pthread_tryjoin_np(two, NULL) == EBUSY);
    }
  }
}

static uint32_t ping, pong;

static void pass(uint32_t* from, uint32_t* to) {
  for (uint32_t i = 0; i < 2000; ++i) {
    while (__atomic_load_n(from, __ATOMIC_ACQUIRE) == i) {
      syscall(SYS_futex, from, FUTEX_WAIT_PRIVATE, i, NULL);
    }
    __atomic_store_n(to, i + 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, to, FUTEX_WAKE_PRIVATE, 1);
  }
}

static void* answer(void* unused) {
  pass(&ping, &pong);
  return unused;
}

CASE(two_threads_play_ping_pong) {
  pthread_t thread = start(answer, NULL);
  __atomic_store_n(&ping, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &ping, FUTEX_WAKE_PRIVATE, 1);
  for (uint32_t i = 1; i <= 2000; ++i) {
    while (__atomic_load_n(&pong, __ATOMIC_ACQUIRE) < i) {
      syscall(SYS_futex, &pong, FUTEX_WAIT_PRIVATE, i - 1, NULL);
    }
    if (i == 2000) break;
    __atomic_store_n(&ping, i + 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &ping, FUTEX_WAKE_PRIVATE, 1);
  }
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

static void wait_in_child(void) {
  while (__atomic_load_n(shared_word, __ATOMIC_SEQ_CST) == 1) {
    syscall(SYS_futex, shared_word, FUTEX_WAIT, 1, NULL);
  }
}

CASE(shared_words_work_between_processes) {
  scope = 0;
  for (int i = 0; i < 10; ++i) {
    set(1);
    pid_t child = fork_child(wait_in_child);
    for (int yields = 0; yields < i * 20; ++yields) sched_yield();
    set(0);
    EXPECT(wake(INT32_MAX) <= 1);
    EXPECT_EQ(outcome_of(child), 0);
  }
}

static void* expect_eintr(void* unused) {
  struct timespec at = far_off(CLOCK_MONOTONIC);
  while (!n_handled()) {
    about_to_block(&blocker);
    EXPECT_ERRNO(futex(FUTEX_WAIT_BITSET, 1, &at, ~0u), EINTR);
  }
  return unused;
}

CASE(a_handler_interrupts_the_wait) {
  handle(count, 0);
  FOR_EACH_SCOPE {
    set(1);
    handled = 0;
    pthread_t thread = start(expect_eintr, NULL);
    wait_until_blocked(&blocker);
    do {
      EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
      sched_yield();
    } while (pthread_tryjoin_np(thread, NULL) == EBUSY);
    blocker = 0;
  }
}
