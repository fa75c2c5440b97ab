// What a new thread inherits from its creator and what it starts without, however many threads ran
// before it and whatever state they left: a cache of threads must not show.
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "expect.h"

static void run(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

// Runs a few threads that change something, then several that must not notice.
static void run_after(void* (*dirty)(void*), void* (*check)(void*), void* argument) {
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j <= i; ++j) run(dirty, argument);
    for (int j = 0; j <= i; ++j) run(check, argument);
  }
}

static void* block_signals(void* unused) {
  sigset_t all;
  sigfillset(&all);
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
  return unused;
}

static void* expect_mask(void* wanted) {
  sigset_t mask;
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
  for (int number = 1; number < 32; ++number) {
    EXPECT_EQ(sigismember(&mask, number), sigismember(wanted, number));
  }
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    EXPECT_EQ(sigismember(&mask, number), sigismember(wanted, number));
  }
  return NULL;
}

CASE(the_signal_mask_is_the_creators) {
  sigset_t mask, before;
  sigemptyset(&mask);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &mask, &before), 0);
  run_after(block_signals, expect_mask, &mask);
  sigaddset(&mask, SIGUSR1);
  sigaddset(&mask, SIGRTMIN + 3);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
  run_after(block_signals, expect_mask, &mask);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

static void* leave_signal_pending(void* unused) {
  block_signals(NULL);
  EXPECT_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
  return unused;
}

static void* expect_nothing_pending(void* unused) {
  sigset_t pending;
  EXPECT_EQ(sigpending(&pending), 0);
  EXPECT(!sigismember(&pending, SIGUSR1));
  return unused;
}

CASE(pending_signals_end_with_their_thread) {
  run_after(leave_signal_pending, expect_nothing_pending, NULL);
}

static void* set_rounding(void* unused) {
  EXPECT_EQ(fesetround(FE_TOWARDZERO), 0);
  EXPECT(feenableexcept(FE_DIVBYZERO) != -1);
  return unused;
}

static volatile double one = 1, three = 3;
static volatile long double long_one = 1, long_three = 3;

struct floating {
  int rounding, traps;
  double third;
  long double long_third;
};

static void* read_floating(void* result) {
  struct floating* f = result;
  f->rounding = fegetround();
  f->traps = fegetexcept();
  f->third = one / three;
  f->long_third = long_one / long_three;
  return NULL;
}

CASE(floating_point_modes_are_the_creators) {
  const int modes[] = {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD, FE_TOWARDZERO};
  for (int round = 0; round < 12; ++round) {
    struct floating seen, own;
    run(set_rounding, NULL);
    EXPECT_EQ(fesetround(modes[round % 4]), 0);
    read_floating(&own);
    run(read_floating, &seen);
    EXPECT_EQ(seen.rounding, modes[round % 4]);
    EXPECT_EQ(seen.traps, 0);
    EXPECT(seen.third == own.third);
    EXPECT(seen.long_third == own.long_third);
  }
  EXPECT_EQ(fesetround(FE_TONEAREST), 0);
  struct floating seen;
  EXPECT(feenableexcept(FE_INVALID) != -1);
  run(read_floating, &seen);
  EXPECT_EQ(seen.traps, FE_INVALID);
  EXPECT(fedisableexcept(FE_ALL_EXCEPT) != -1);
  run(read_floating, &seen);
  EXPECT_EQ(seen.traps, 0);
}

static void* set_name(void* unused) {
  EXPECT_EQ(pthread_setname_np(pthread_self(), "left-over"), 0);
  return unused;
}

static void* expect_name(void* wanted) {
  char name[16], kernels[16];
  EXPECT_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
  EXPECT_EQ(prctl(PR_GET_NAME, kernels), 0);
  EXPECT_EQ(strcmp(name, wanted), 0);
  EXPECT_EQ(strcmp(kernels, wanted), 0);
  return NULL;
}

CASE(the_name_is_the_creators) {
  char before[16];
  EXPECT_EQ(prctl(PR_GET_NAME, before), 0);
  run_after(set_name, expect_name, before);
  EXPECT_EQ(pthread_setname_np(pthread_self(), "renamed"), 0);
  run_after(set_name, expect_name, "renamed");
  EXPECT_EQ(prctl(PR_SET_NAME, before), 0);
  run_after(set_name, expect_name, before);
  EXPECT_EQ(pthread_setname_np(pthread_self(), "sixteen-letters!"), ERANGE);
}

static locale_t other_locale;

static void* use_locale(void* unused) {
  EXPECT(uselocale(other_locale) == LC_GLOBAL_LOCALE);
  return unused;
}

static void* expect_global_locale(void* unused) {
  EXPECT(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
  return unused;
}

CASE(the_locale_is_the_global_one) {
  other_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  EXPECT(other_locale);
  run_after(use_locale, expect_global_locale, NULL);
  EXPECT(uselocale(other_locale) == LC_GLOBAL_LOCALE);  // not inherited either
  run_after(use_locale, expect_global_locale, NULL);
  EXPECT(uselocale(LC_GLOBAL_LOCALE) == other_locale);
  freelocale(other_locale);
}

static void* set_errno(void* unused) {
  errno = 99;
  return unused;
}

static void* expect_errno_zero(void* unused) {
  EXPECT_EQ(errno, 0);
  return unused;
}

CASE(errno_is_zero) { run_after(set_errno, expect_errno_zero, NULL); }

static char alternative[16384];

static void* set_signal_stack(void* unused) {
  stack_t stack = {.ss_sp = alternative, .ss_size = sizeof alternative};
  EXPECT_EQ(sigaltstack(&stack, NULL), 0);
  return unused;
}

static void* expect_no_signal_stack(void* unused) {
  stack_t stack;
  EXPECT_EQ(sigaltstack(NULL, &stack), 0);
  EXPECT(stack.ss_flags & SS_DISABLE);
  return unused;
}

CASE(there_is_no_signal_stack) {
  run_after(set_signal_stack, expect_no_signal_stack, NULL);
  set_signal_stack(NULL);
  run_after(set_signal_stack, expect_no_signal_stack, NULL);
  stack_t none = {.ss_flags = SS_DISABLE};
  EXPECT_EQ(sigaltstack(&none, NULL), 0);
}

static int own_niceness(void) {
  errno = 0;
  int value = getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(errno, 0);
  return value;
}

static void* be_nicer(void* how) {
  int value = own_niceness();
  if (how) {
    EXPECT_EQ(setpriority(PRIO_PROCESS, 0, value + 3), 0);
  } else {
    EXPECT_EQ(nice(3), value + 3);
  }
  EXPECT_EQ(own_niceness(), value + 3);
  return NULL;
}

static void* expect_niceness(void* wanted) {
  EXPECT_EQ(own_niceness(), (intptr_t)wanted);
  return NULL;
}

CASE(niceness_is_the_creators) {  // per thread on Linux
  intptr_t value = own_niceness();
  if (value > 15) SKIP("started with the lowest priority");
  for (int i = 0; i < 10; ++i) {
    run(be_nicer, i % 2 ? "setpriority" : NULL);
    run(expect_niceness, (void*)value);
  }
}

static void* set_slack(void* unused) {
  EXPECT_EQ(prctl(PR_SET_TIMERSLACK, 1234567), 0);
  return unused;
}

static void* expect_slack(void* wanted) {
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK), (intptr_t)wanted);
  return NULL;
}

CASE(timer_slack_is_the_creators) {
  run_after(set_slack, expect_slack, (void*)(intptr_t)prctl(PR_GET_TIMERSLACK));
}

static void* be_batch(void* unused) {
  struct sched_param param = {0};
  EXPECT_EQ(pthread_setschedparam(pthread_self(), SCHED_BATCH, &param), 0);
  EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  return unused;
}

static void* be_batch_by_tid(void* unused) {
  struct sched_param param = {0};
  EXPECT_EQ(sched_setscheduler(0, SCHED_BATCH, &param), 0);
  return unused;
}

static void* expect_ordinary_policy(void* unused) {
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
  return unused;
}

CASE(the_scheduling_policy_is_the_creators) {
  if (sched_getscheduler(0) != SCHED_OTHER) SKIP("started with another policy");
  run_after(be_batch, expect_ordinary_policy, NULL);
  run_after(be_batch_by_tid, expect_ordinary_policy, NULL);
}

static void* leave_malloc_changed(void* unused) {
  void* blocks[64];
  for (int i = 0; i < 64; ++i) blocks[i] = malloc((size_t)i * 100 + 1);
  for (int i = 0; i < 64; ++i) free(blocks[i]);
  return unused;
}

CASE(memory_of_ended_threads_is_usable_by_others) {
  for (int i = 0; i < 200; ++i) run(leave_malloc_changed, NULL);
  leave_malloc_changed(NULL);
}
