// sighold, sigrelse, sigblock, sigsetmask, siggetmask and sigpause, also of SIGSYS, beside system
// calls by an instruction of the program's own.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "blocked.h"
#include "expect.h"
#include "inline_syscall.h"

// They are deprecated, or differ by _XOPEN_SOURCE.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
int bsd_sigpause(int mask) __asm__("sigpause");
int xpg_sigpause(int number) __asm__("__xpg_sigpause");

static volatile int handled;
static void note(int number) {
  (void)number;
  ++handled;
}

static int is_blocked(int number) {
  sigset_t set;
  EXPECT_EQ(sigprocmask(SIG_BLOCK, NULL, &set), 0);
  return sigismember(&set, number);
}
static int bit(int number) { return (int)(1u << (number - 1)); }

static void sleep_inline(void) {
  struct timespec moment = {0, 1000};
  EXPECT_EQ(inline_call(SYS_nanosleep, ADDRESS(&moment), 0, 0, 0, 0, 0), 0);
}

static void raise_while_blocked(int number) {
  EXPECT_EQ(is_blocked(number), 1);
  sleep_inline();
  handled = 0;
  EXPECT_EQ(raise(number), 0);
  EXPECT_EQ(handled, 0);
}
static void expect_handled_once(int number) {
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(is_blocked(number), 0);
}

static const int numbers[] = {SIGUSR1, SIGSYS};

CASE(sighold_and_sigrelse) {
  for (int i = 0; i < 2; ++i) {
    EXPECT(signal(numbers[i], note) != SIG_ERR);
    EXPECT_EQ(sighold(numbers[i]), 0);
    raise_while_blocked(numbers[i]);
    EXPECT_EQ(sigrelse(numbers[i]), 0);
    expect_handled_once(numbers[i]);
  }
}

CASE(a_signal_blocked_by_sigprocmask_is_released_by_sigrelse) {
  for (int i = 0; i < 2; ++i) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, numbers[i]);
    EXPECT(signal(numbers[i], note) != SIG_ERR);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    raise_while_blocked(numbers[i]);
    EXPECT_EQ(sigrelse(numbers[i]), 0);
    expect_handled_once(numbers[i]);
  }
}

CASE(sigblock_and_sigsetmask) {
  for (int i = 0; i < 2; ++i) {
    EXPECT(signal(numbers[i], note) != SIG_ERR);
    EXPECT_EQ(sigblock(bit(numbers[i])), 0);
    EXPECT_EQ(siggetmask(), bit(numbers[i]));
    raise_while_blocked(numbers[i]);
    EXPECT_EQ(sigsetmask(0), bit(numbers[i]));
    expect_handled_once(numbers[i]);
    EXPECT_EQ(siggetmask(), 0);
  }
}

static pthread_t waiter;
static pid_t blocker;
static int ended;
static void* kill_until_it_ends(void* number) {
  wait_until_blocked(&blocker);
  while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
    pthread_kill(waiter, (int)(long)number);
    usleep(200);
  }
  return NULL;
}

// Both wait, with the signal let in, and block it again.
CASE(sigpause_waits_for_a_handler) {
  waiter = pthread_self();
  for (int by_mask = 0; by_mask < 2; ++by_mask) {
    pthread_t killer;
    ended = handled = 0;
    EXPECT(signal(SIGUSR1, note) != SIG_ERR);
    EXPECT_EQ(sighold(SIGUSR1), 0);
    EXPECT_EQ(pthread_create(&killer, NULL, kill_until_it_ends, (void*)(long)SIGUSR1), 0);
    about_to_block(&blocker);
    errno = 0;
    EXPECT_EQ(by_mask ? bsd_sigpause(0) : xpg_sigpause(SIGUSR1), -1);
    EXPECT_EQ(errno, EINTR);
    EXPECT_EQ(handled, 1);
    EXPECT_EQ(is_blocked(SIGUSR1), 1);
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    EXPECT_EQ(pthread_join(killer, NULL), 0);
    EXPECT_EQ(sigrelse(SIGUSR1), 0);
  }
}

CASE(what_is_no_signal_is_refused) {
  const int wrong[] = {-1, 0, 32, 33, 65};
  for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    errno = 0;
    EXPECT_EQ(sighold(wrong[i]), -1);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(sigrelse(wrong[i]), -1);
    EXPECT_EQ(errno, EINVAL);
  }
  errno = 0;
  EXPECT_EQ(xpg_sigpause(0), -1);
  EXPECT_EQ(errno, EINVAL);
}
