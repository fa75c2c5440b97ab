// Programs that lock themselves in: a seccomp filter allows what they need from then on, and ends
// them for all else. That is to hold for what is done on their behalf, too, up to their end.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "expect.h"

static void install(struct sock_filter* filter, int n) {
  struct sock_fprog program = {(unsigned short)n, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(99);
  }
}

// Allows what libc needs for threads that are there, memory, output and the end, and one call by
// which Roost waits for its locks.
static void allow_a_few_calls(void) {
  static const int allowed[] = {
      SYS_read,         SYS_write,           SYS_close,     SYS_futex,       SYS_mmap,
      SYS_munmap,       SYS_mprotect,        SYS_madvise,   SYS_brk,         SYS_exit,
      SYS_exit_group,   SYS_rt_sigprocmask,  SYS_fstat,     SYS_newfstatat,  SYS_poll,
      SYS_rt_sigreturn, SYS_clock_nanosleep, SYS_getrandom, SYS_sched_yield,
  };
  enum { COUNT = sizeof allowed / sizeof *allowed };
  struct sock_filter filter[COUNT + 3];
  int n = 0;
  filter[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < COUNT; ++i) {
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i],
                                               (unsigned char)(COUNT - i), 0);
  }
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  install(filter, n);
}

static void forbid_prctl(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  install(filter, sizeof filter / sizeof *filter);
}

static void* work(void* argument) {
  for (int i = 0; i < 5; ++i) {
    poll(NULL, 0, 1);
    for (volatile int j = 0; j < 200000; ++j) continue;
  }
  return argument;
}

static void run_threads(void (*first)(void), void (*then)(void)) {
  pthread_t threads[4];
  if (first) first();
  for (int i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) _exit(98);
  if (then) then();
  work(NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void work_alone(void) {
  allow_a_few_calls();
  work(NULL);
  exit(0);
}
CASE(a_program_without_threads_ends_under_a_list_of_calls) {
  EXPECT_EQ(outcome_in_child(work_alone), 0);
}

static void lock_in_beside_threads(void) {
  run_threads(NULL, allow_a_few_calls);
  exit(0);
}
CASE(one_thread_of_several_ends_the_program_under_a_list_of_calls) {
  EXPECT_EQ(outcome_in_child(lock_in_beside_threads), 0);
}

static void threads_under_a_filter(void) {
  run_threads(forbid_prctl, NULL);
  run_threads(NULL, NULL);
  exit(0);
}
CASE(threads_made_under_a_filter_do_what_it_allows) {
  EXPECT_EQ(outcome_in_child(threads_under_a_filter), 0);
}

static void threads_before_and_under_a_filter(void) {
  run_threads(NULL, forbid_prctl);
  run_threads(NULL, NULL);
  exit(0);
}
CASE(threads_made_before_and_under_a_filter_do_what_it_allows) {
  EXPECT_EQ(outcome_in_child(threads_before_and_under_a_filter), 0);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t never;

static void unlock(void* data) { pthread_mutex_unlock(data); }
static void* wait_in_cond(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  for (;;) pthread_cond_wait(&cond, &mutex);
  pthread_cleanup_pop(1);
  return unused;
}
static void* wait_in_semaphore(void* unused) {
  for (;;) sem_wait(&never);
  return unused;
}
static void* wait_in_poll(void* unused) {
  for (;;) poll(NULL, 0, -1);
  return unused;
}

static void cancel_under_a_filter(void) {
  static void* (*const waits[])(void*) = {wait_in_cond, wait_in_semaphore, wait_in_poll};
  forbid_prctl();
  sem_init(&never, 0, 0);
  for (int i = 0; i < 30; ++i) {
    pthread_t thread;
    void* result = NULL;
    EXPECT_EQ(pthread_create(&thread, NULL, waits[i % 3], NULL), 0);
    if (i % 6 < 3) poll(NULL, 0, 5);  // it most likely waits then
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT(result == PTHREAD_CANCELED);
  }
  exit(0);
}
CASE(threads_made_under_a_filter_can_be_cancelled) {
  EXPECT_EQ(outcome_in_child(cancel_under_a_filter), 0);
}
