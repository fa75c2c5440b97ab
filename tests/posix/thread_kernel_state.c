// What the kernel keeps for a thread: new threads inherit their creator's, whatever ran before, and
// nobody else's. And threads that are over are gone.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "child.h"
#include "expect.h"

static void run(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

// A piece of state: how it is set to something unusual (0, or what the system says against it), and
// what it is.
struct state {
  int (*set)(void);
  long (*get)(void);
};

static int set_slack(void) { return prctl(PR_SET_TIMERSLACK, 1234567); }
static long get_slack(void) { return prctl(PR_GET_TIMERSLACK); }
static int set_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
static long get_privileges(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); }
static int set_nice(void) { return setpriority(PRIO_PROCESS, 0, 19); }
static long get_nice(void) { return getpriority(PRIO_PROCESS, 0); }
static int set_batch(void) {
  struct sched_param none = {0};
  return sched_setscheduler(0, SCHED_BATCH, &none);
}
static long get_policy(void) { return sched_getscheduler(0); }
// libc's own setuid() changes all threads; the system call changes one.
static int set_file_user(void) { return setfsuid(12345), 0; }
static long get_file_user(void) { return setfsuid(-1); }
static int set_own_files(void) { return unshare(CLONE_FS) ? -1 : (umask(0123), 0); }
static long get_mask_of_files(void) {
  mode_t mask = umask(0);
  umask(mask);
  return mask;
}
static int set_io_priority(void) { return (int)syscall(SYS_ioprio_set, 1, 0, 3 << 13); }
static long get_io_priority(void) { return syscall(SYS_ioprio_get, 1, 0); }
static int set_filter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EUCLEAN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
static long get_filter(void) { return syscall(SYS_getppid) == -1; }

static const struct state kStates[] = {
    {set_slack, get_slack},
    {set_privileges, get_privileges},
    {set_nice, get_nice},
    {set_batch, get_policy},
    {set_file_user, get_file_user},
    {set_own_files, get_mask_of_files},
    {set_io_priority, get_io_priority},
    {set_filter, get_filter},
};
static const struct state* state;  // in a child, the one it is about
static int could;

static void* nothing(void* data) { return data; }
static void* set_it(void* data) {
  could = state->set() == 0;
  return data;
}
static void* get_it(void* data) {
  *(long*)data = state->get();
  return NULL;
}
static long in_new_thread(void) {
  long value = -1;
  run(get_it, &value);
  return value;
}

static void creator_changes(void) {
  run(nothing, NULL);
  long before = in_new_thread();
  set_it(NULL);
  if (!could) return;
  long own = state->get();
  EXPECT(own != before);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(in_new_thread(), own);
}
static void other_changes(void) {
  long before = in_new_thread();
  for (int i = 0; i < 3; ++i) {
    run(set_it, NULL);
    EXPECT_EQ(in_new_thread(), before);
    EXPECT_EQ(state->get(), before);
  }
}

CASE(new_threads_inherit_what_their_creator_has_become) {
  for (state = kStates; state < kStates + sizeof kStates / sizeof *kStates; ++state)
    EXPECT_EQ(outcome_in_child(creator_changes), 0);
}

CASE(new_threads_inherit_nothing_of_those_that_are_over) {
  for (state = kStates; state < kStates + sizeof kStates / sizeof *kStates; ++state)
    EXPECT_EQ(outcome_in_child(other_changes), 0);
}

// ---- What a thread has used of a CPU ------------------------------------------------------------

static long clock_us(void) {
  struct timespec used;
  EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
  return used.tv_sec * 1000000 + used.tv_nsec / 1000;
}
static long usage_us(void) {
  struct rusage usage;
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}
// None needs so much to begin.
static void* use_50_ms(void* data) {
  EXPECT(clock_us() < 10000);
  EXPECT(usage_us() < 10000);
  while (clock_us() < 50000) {
  }
  return data;
}
CASE(a_new_thread_has_used_no_cpu) {
  for (int i = 0; i < 5; ++i) run(use_50_ms, NULL);
}

// ---- Threads that are over ----------------------------------------------------------------------

static long n_tasks(void) {
  struct stat tasks;
  EXPECT_EQ(stat("/proc/self/task", &tasks), 0);
  return (long)tasks.st_nlink - 2;
}

static void pause_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static void leave_threads(pthread_t* unjoined) {
  enum { kThreads = 20 };
  pthread_t threads[kThreads];
  for (intptr_t i = 0; i < kThreads; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, nothing, (void*)i), 0);
  for (int i = 0; i < kThreads - 1; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  *unjoined = threads[kThreads - 1];
}

CASE(a_process_whose_threads_are_over_has_one_again) {
  pthread_t unjoined;
  for (int i = 0; i < 2; ++i) {
    leave_threads(&unjoined);
    for (int waited_ms = 0; n_tasks() != 1; waited_ms += 10) {
      EXPECT(waited_ms < 20000);
      pause_ms(10);
    }
    EXPECT_EQ(pthread_kill(unjoined, 0), 0);
    void* result = NULL;
    EXPECT_EQ(pthread_join(unjoined, &result), 0);
    EXPECT_EQ((intptr_t)result, 19);
    run(nothing, NULL);
  }
}

static void detach_late(void) {
  pthread_t unjoined;
  leave_threads(&unjoined);
  while (n_tasks() != 1) pause_ms(10);
  EXPECT_EQ(pthread_detach(unjoined), 0);
  run(nothing, NULL);
}
CASE(a_thread_that_is_long_over_can_be_detached) { EXPECT_EQ(outcome_in_child(detach_late), 0); }

// CLONE_NEWUSER is for a process with one thread.
static void use_namespace(void) {
  pthread_t unjoined;
  leave_threads(&unjoined);
  EXPECT_EQ(pthread_join(unjoined, NULL), 0);
  // libc's join waits for the end of the kernel's thread, too, but not for it to leave the list.
  int error = 0;
  for (int i = 0; i < 100 && unshare(CLONE_NEWUSER) != 0; ++i) {
    error = errno;
    if (error != EINVAL) break;
    pause_ms(10);
    error = 0;
  }
  if (error == EPERM || error == ENOSPC) return;  // not for this user, or not here
  EXPECT_EQ(error, 0);
  leave_threads(&unjoined);
  EXPECT_EQ(pthread_join(unjoined, NULL), 0);
}
CASE(a_process_whose_threads_are_over_may_have_its_own_users) {
  EXPECT_EQ(outcome_in_child(use_namespace), 0);
}

static void* have_no_namespace(void* data) {
  EXPECT_ERRNO(unshare(CLONE_NEWUSER), EINVAL);
  return data;
}
CASE(one_with_threads_may_not) { run(have_no_namespace, NULL); }
