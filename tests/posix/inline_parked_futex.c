// Private futexes whose waiters may wait in Roost: they are reached by every wake-up, whoever makes
// it and how, and may be left in every way. The first cases run before anything has told Roost
// that it does not see all waiters; the order matters.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>

#include "blocked.h"
#include "expect.h"
#include "inline_syscall.h"

enum { kWaiters = 8 };
static uint32_t word, other;
static uint32_t returned;
static pid_t waiter_tid;
static pthread_t threads[kWaiters];

static void start(pthread_t* thread, void* (*body)(void*), void* data) {
  EXPECT_EQ(pthread_create(thread, NULL, body, data), 0);
}

static void* wait_once(void* timeout) {
  about_to_block(&waiter_tid);
  long result;
  do {
    result = inline_futex_wait(&word, 0, timeout);
  } while (result == -EINTR);
  EXPECT(result == 0 || result == -EAGAIN);
  __atomic_fetch_add(&returned, 1, __ATOMIC_SEQ_CST);
  return NULL;
}
static void start_waiters(int count, const struct timespec* timeout_of_odd) {
  word = other = returned = 0;
  for (int i = 0; i < count; ++i) {
    start(&threads[i], wait_once, i % 2 ? (void*)timeout_of_odd : NULL);
    wait_until_blocked(&waiter_tid);
  }
}
static void join_waiters(int count) {
  for (int i = 0; i < count; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(returned, (uint32_t)count);
  EXPECT_EQ(inline_futex_wake(&word, 1), 0);
}
// The word stays as it was: only wake-ups bring the waiters back.
static void wake_all(int at_a_time) {
  while (__atomic_load_n(&returned, __ATOMIC_SEQ_CST) < (uint32_t)kWaiters) {
    long woken = inline_futex_wake(&word, at_a_time);
    EXPECT(woken >= 0 && woken <= at_a_time);
    sched_yield();
  }
}

CASE(each_wake_up_reaches_as_many_as_it_names) {
  for (int at_a_time = 1; at_a_time <= kWaiters + 1; at_a_time += 4) {
    start_waiters(kWaiters, NULL);
    wake_all(at_a_time);
    join_waiters(kWaiters);
  }
}

CASE(those_with_a_timeout_wait_beside_those_without) {
  const struct timespec long_time = {100, 0};
  for (int at_a_time = 1; at_a_time <= kWaiters; at_a_time += kWaiters - 1) {
    start_waiters(kWaiters, &long_time);
    wake_all(at_a_time);
    join_waiters(kWaiters);
  }
}

CASE(a_wake_up_by_syscall_reaches_those_who_wait_inline) {
  start_waiters(kWaiters, NULL);
  while (__atomic_load_n(&returned, __ATOMIC_SEQ_CST) < (uint32_t)kWaiters) {
    EXPECT(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1) >= 0);
    sched_yield();
  }
  join_waiters(kWaiters);
}

// The word changes and changes back while the waiter is on its way.
enum { kWaits = 3000 };
static void* wait_many_times(void* unused) {
  for (int i = 0; i < kWaits; ++i) {
    long result = inline_futex_wait(&word, 0, NULL);
    EXPECT(result == 0 || result == -EAGAIN || result == -EINTR);
    __atomic_fetch_add(&returned, 1, __ATOMIC_SEQ_CST);
  }
  return unused;
}
CASE(a_word_that_flickers_hides_no_waiter) {
  word = returned = 0;
  start(&threads[0], wait_many_times, NULL);
  while (__atomic_load_n(&returned, __ATOMIC_SEQ_CST) < (uint32_t)kWaits) {
    for (int i = 0; i < 50; ++i) {
      __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
      __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
    }
    EXPECT(inline_futex_wake(&word, 1) >= 0);
  }
  EXPECT_EQ(pthread_join(threads[0], NULL), 0);
}

static sigjmp_buf out;
static int jumps;
static void jump_out(int number) {
  (void)number;
  siglongjmp(out, 1);
}
static void* wait_until_jumped(void* unused) {
  for (;;) {
    if (sigsetjmp(out, 1)) return unused;
    about_to_block(&waiter_tid);
    inline_futex_wait(&word, 0, NULL);
  }
}
CASE(a_handler_may_jump_out_of_the_wait) {
  struct sigaction action = {.sa_handler = jump_out};
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  for (jumps = 0; jumps < 20; ++jumps) {
    pthread_t thread, behind;
    word = returned = 0;
    start(&thread, wait_until_jumped, NULL);
    wait_until_blocked(&waiter_tid);
    start(&behind, wait_once, NULL);
    wait_until_blocked(&waiter_tid);
    EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    long woken = 0;
    while (!__atomic_load_n(&returned, __ATOMIC_SEQ_CST)) {
      woken += inline_futex_wake(&word, 1);
      sched_yield();
    }
    EXPECT_EQ(pthread_join(behind, NULL), 0);
    EXPECT_EQ(woken, 1);  // nobody was left in front of the other waiter
    EXPECT_EQ(inline_futex_wake(&word, 1), 0);
  }
}

CASE(waiters_are_moved_to_another_word) {
  start_waiters(kWaiters, NULL);
  int moved = 0;
  while (moved < kWaiters) {
    long n =
        INLINE(SYS_futex, &word, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, INT_MAX, &other, 0);
    EXPECT(n >= 0);
    moved += (int)n;
    sched_yield();
  }
  EXPECT_EQ(moved, kWaiters);
  EXPECT_EQ(inline_futex_wake(&word, INT_MAX), 0);
  EXPECT_EQ(returned, 0);
  EXPECT_EQ(inline_futex_wake(&other, INT_MAX), kWaiters);
  join_waiters(kWaiters);
}

#if defined(__x86_64__)
// A thread that libc and Roost know nothing of wakes those who wait.
static char stack[65536] __attribute__((aligned(64)));
static uint32_t clone_tid;
__attribute__((noinline)) static long clone_that_wakes_all(void) {
  long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
               CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  long result;
  register long r10 __asm__("r10") = ADDRESS(&clone_tid);
  register long r8 __asm__("r8") = 0;
  __asm__ volatile(
      "syscall\n test %%rax, %%rax\n jnz 1f\n"
      "2: mov %[word], %%rdi\n mov $129, %%esi\n mov $0x7fffffff, %%edx\n mov $202, %%eax\n "
      "syscall\n"
      "mov $24, %%eax\n syscall\n"
      "cmpl %[all], %[returned]\n jl 2b\n"
      "xor %%edi, %%edi\n mov $60, %%eax\n syscall\n hlt\n"
      "1:"
      : "=a"(result), [returned] "+m"(returned)
      : "a"((long)SYS_clone), "D"(flags), "S"(ADDRESS(stack + sizeof stack)),
        "d"(ADDRESS(&clone_tid)), "r"(r10), "r"(r8), [word] "b"(ADDRESS(&word)), [all] "i"(kWaiters)
      : "rcx", "r11", "memory");
  return result;
}
CASE(a_thread_that_nobody_knows_may_wake_them) {
  for (int i = 0; i < 3; ++i) {
    start_waiters(kWaiters, NULL);
    clone_tid = 1;
    EXPECT(clone_that_wakes_all() > 0);
    join_waiters(kWaiters);
    for (uint32_t now; (now = __atomic_load_n(&clone_tid, __ATOMIC_ACQUIRE)) != 0;)
      INLINE(SYS_futex, &clone_tid, FUTEX_WAIT, now, 0);
  }
}
#endif
