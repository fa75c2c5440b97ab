// How processes with threads end: exit, _exit, quick_exit, abort, return from main and signals,
// while other threads run, wait and hold locks.
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "blocked.h"
#include "child.h"
#include "expect.h"

static sem_t never;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pid_t blocker;

static void say(const char* letter) { EXPECT_EQ(write(1, letter, 1), 1); }

static void* wait_for_ever(void* unused) {
  about_to_block(&blocker);
  for (;;) sem_wait(&never);
  return unused;
}

static void* wait_for_mutex(void* unused) {
  about_to_block(&blocker);
  pthread_mutex_lock(&held);
  say("!");
  return unused;
}

static void* spin_for_ever(void* unused) {
  for (volatile unsigned long i = 0;; ++i) {
  }
  return unused;
}

static void start(void* (*body)(void*)) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, NULL), 0);
}

// More threads than cores: some wait, some compute.
static void surround_with_threads(void) {
  EXPECT_EQ(sem_init(&never, 0, 0), 0);
  EXPECT_EQ(pthread_mutex_lock(&held), 0);
  for (int i = 0; i < 2; ++i) {
    start(wait_for_ever);
    wait_until_blocked(&blocker);
    start(wait_for_mutex);
    wait_until_blocked(&blocker);
  }
  for (int i = 0; i < 3; ++i) start(spin_for_ever);
}

static void handler_1(void) { say("1"); }
static void handler_2(void) { say("2"); }

static void* nothing(void* unused) { return unused; }

static void handler_with_thread(void) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, nothing, NULL), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  say("t");
}

static void expect_output(const char* role, int outcome, const char* wanted) {
  char text[64];
  EXPECT_EQ(outcome_and_output(role, text, sizeof text), outcome);
  if (strcmp(text, wanted) != 0) expect_fail(role, 0, text);
}

ROLE(exit_from_main) {
  atexit(handler_1);
  atexit(handler_2);
  surround_with_threads();
  printf("s");  // still in the buffer
  exit(5);
}

CASE(exit_runs_handlers_and_flushes) { expect_output("@exit_from_main", 5, "21s"); }

static void* exit_here(void* unused) {
  exit(6);
  return unused;
}

ROLE(exit_from_thread) {
  atexit(handler_1);
  surround_with_threads();
  start(exit_here);
  for (;;) pause();
}

CASE(exit_from_a_thread) { expect_output("@exit_from_thread", 6, "1"); }

ROLE(return_from_main) {
  atexit(handler_1);
  surround_with_threads();
}

CASE(return_from_main) { expect_output("@return_from_main", 0, "1"); }

ROLE(handlers_with_threads) {
  atexit(handler_with_thread);
  atexit(handler_1);
  surround_with_threads();
  exit(8);
}

CASE(handlers_may_use_threads) { expect_output("@handlers_with_threads", 8, "1t"); }

ROLE(underscore_exit) {
  atexit(handler_1);
  surround_with_threads();
  printf("s");
  _exit(7);
}

CASE(underscore_exit_runs_no_handler) { expect_output("@underscore_exit", 7, ""); }

static void* underscore_exit_here(void* unused) {
  _exit(9);
  return unused;
}

ROLE(underscore_exit_from_thread) {
  surround_with_threads();
  start(underscore_exit_here);
  for (;;) pause();
}

CASE(underscore_exit_from_a_thread) { expect_output("@underscore_exit_from_thread", 9, ""); }

ROLE(quick_exit) {
  atexit(handler_1);
  at_quick_exit(handler_2);
  surround_with_threads();
  quick_exit(10);
}

CASE(quick_exit_runs_its_own_handlers) { expect_output("@quick_exit", 10, "2"); }

ROLE(abort) {
  atexit(handler_1);
  surround_with_threads();
  abort();
}

CASE(abort_ends_by_sigabrt) { expect_output("@abort", -SIGABRT, ""); }

static void* abort_here(void* unused) {
  abort();
  return unused;
}

ROLE(abort_from_thread) {
  surround_with_threads();
  start(abort_here);
  for (;;) pause();
}

CASE(abort_from_a_thread) { expect_output("@abort_from_thread", -SIGABRT, ""); }

static void* touch_nothing(void* unused) {
  *(volatile int*)unused = 1;
  return unused;
}

ROLE(fault_in_thread) {
  surround_with_threads();
  start(touch_nothing);
  for (;;) pause();
}

CASE(a_fault_in_a_thread_ends_the_process) { expect_output("@fault_in_thread", -SIGSEGV, ""); }

ROLE(wait_to_be_killed) {
  surround_with_threads();
  say("r");
  for (;;) pause();
}

CASE(signals_end_the_process_with_their_status) {
  const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGUSR1, SIGALRM};
  for (int i = 0; i < 6; ++i) {
    int ends[2];
    char ready;
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = start_role("@wait_to_be_killed", ends[1]);
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    EXPECT_EQ(kill(pid, signals[i]), 0);
    EXPECT_EQ(outcome_of(pid), -signals[i]);
    close(ends[0]);
    close(ends[1]);
  }
}

static void* exit_together(void* status) {
  exit(*(int*)status);
  return NULL;
}

ROLE(two_exits) {
  static int eleven = 11;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(pthread_create(&threads[i], NULL, exit_together, &eleven), 0);
  }
  for (;;) pause();
}

CASE(several_exits_at_once_are_one) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outcome_of_role("@two_exits"), 11);
}

ROLE(exit_while_creating) {
  for (int i = 0; i < 50; ++i) start(i % 2 ? nothing : wait_for_ever);
  exit(12);
}

CASE(exit_while_threads_start_and_end) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outcome_of_role("@exit_while_creating"), 12);
}

static void exit_at_once(void) { exit(300); }

// Threads that end past libc, by the system call: the last one's status is the process's, and no
// handler runs.
static void* sleep_shortly(void* unused) {
  usleep(20000);
  return unused;
}
static void* sleep_and_end_by_call(void* unused) {
  usleep(20000);
  syscall(SYS_exit, 14);
  return unused;
}
static void end_by_call_alone(void) { syscall(SYS_exit, 11); }
static void end_by_call_after_others(void) {
  pthread_t thread;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pthread_create(&thread, NULL, sleep_shortly, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
  syscall(SYS_exit, 12);
}
static void end_by_call_before_others(void) {
  start(sleep_shortly);
  syscall(SYS_exit, 13);
}
static void end_by_call_before_one_that_does(void) {
  start(sleep_and_end_by_call);
  syscall(SYS_exit, 13);
}
static void end_by_call_under_a_filter(void) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, sleep_shortly, NULL), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), 0);
  syscall(SYS_exit, 15);
}
CASE(the_last_thread_that_ends_by_call_gives_the_status) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(outcome_in_child(end_by_call_alone), 11);
    EXPECT_EQ(outcome_in_child(end_by_call_after_others), 12);
    EXPECT_EQ(outcome_in_child(end_by_call_before_others), 0);
    EXPECT_EQ(outcome_in_child(end_by_call_before_one_that_does), 14);
    EXPECT_EQ(outcome_in_child(end_by_call_under_a_filter), 15);
  }
}

CASE(only_eight_bits_of_the_status_are_seen) {
  EXPECT_EQ(outcome_in_child(exit_at_once), 300 & 0xff);
}
