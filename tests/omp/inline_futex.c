// Members that share an OS thread wait for each other by system calls of the program's own, each
// with its own stack and registers.
#include "../posix/inline_syscall.h"
#include "expect.h"

enum { kSize = 4, kRounds = 40, kTurns = 25 };

static int turn;  // a futex word: the turns taken

static void await_turn(int own) {
  for (;;) {
    int now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
    if (now == own) return;
    if (own & 1) {
      INLINE(SYS_futex, ADDRESS(&turn), FUTEX_WAIT_PRIVATE, now);
    } else {
      INLINE(SYS_futex, ADDRESS(&turn), FUTEX_WAIT, now);
    }
  }
}
static void pass_on(int own) {
  __atomic_store_n(&turn, own + 1, __ATOMIC_RELEASE);
  INLINE(SYS_futex, ADDRESS(&turn), FUTEX_WAKE_PRIVATE, INT_MAX);
  INLINE(SYS_futex, ADDRESS(&turn), FUTEX_WAKE, INT_MAX);
}

// What is in registers stays: a few sums beside the calls.
static double take_turns(int number) {
  double sum = number, product = 1 + number;
  long count = number;
  for (int i = 0; i < kTurns; ++i) {
    int own = i * kSize + number;
    await_turn(own);
    sum += 0.5;
    product *= 2;
    count += 3;
    if (i % 5 == 0) INLINE(SYS_sched_yield);
    pass_on(own);
  }
  return sum + product + (double)count;
}

static double expected(int number) {
  double product = 1 + number;
  for (int i = 0; i < kTurns; ++i) product *= 2;
  return number + 0.5 * kTurns + product + number + 3.0 * kTurns;
}

int main(void) {
  for (int round = 0; round < kRounds; ++round) {
    __atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
#pragma omp parallel num_threads(kSize)
    {
      double result = take_turns(omp_get_thread_num());
      EXPECT(result == expected(omp_get_thread_num()));
    }
  }
  return verdict();
}
