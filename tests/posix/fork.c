// fork from programs with threads: what the child has and can do, the order of the handlers, and
// that the parent's threads do not notice.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "blocked.h"
#include "child.h"
#include "deadline.h"
#include "expect.h"

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void join(pthread_t thread) { EXPECT_EQ(pthread_join(thread, NULL), 0); }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void* take_turns(void* me) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    while (turn % 2 != (me != NULL)) EXPECT_EQ(pthread_cond_wait(&cond, &mutex), 0);
    ++turn;
    EXPECT_EQ(pthread_cond_broadcast(&cond), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  return NULL;
}

// Uses a bit of everything that waits.
static void work_with_threads(void) {
  turn = 0;
  pthread_t a = start(take_turns, NULL), b = start(take_turns, &turn);
  join(a);
  join(b);
  EXPECT_EQ(turn, 200);
  sem_t sem;
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  struct timespec at = in_ms(CLOCK_REALTIME, 2);
  EXPECT_ERRNO(sem_timedwait(&sem, &at), ETIMEDOUT);
  EXPECT_EQ(nanosleep(&(struct timespec){0, 100000}, NULL), 0);
  sched_yield();
}

// Children that no fork handler knows of: of clone(), and of the system calls by number.
static int work_and_yield(void* unused) {
  (void)unused;
  for (int i = 0; i < 2000; ++i) sched_yield();
  work_with_threads();
  _exit(0);
}

static pid_t make_child(int kind) {
  static char stack[256 * 1024];
  if (kind == 0) return clone(work_and_yield, stack + sizeof stack, SIGCHLD, NULL);
  pid_t pid = kind == 1 ? (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L)
                        : (pid_t)syscall(SYS_fork);
  if (pid == 0) work_and_yield(NULL);
  return pid;
}

CASE(children_of_clone_can_use_threads) {
  for (int kind = 0; kind < 3; ++kind) {
    for (int i = 0; i < 5; ++i) {
      pid_t pid = make_child(kind);
      EXPECT(pid > 0);
      work_with_threads();
      EXPECT_EQ(outcome_of(pid), 0);
    }
  }
}

// In a child that has no descriptors left: it cannot join its parent's instance.
static int n_cpus;

static void count_cpus(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT(syscall(SYS_sched_getaffinity, 0L, (long)sizeof set, (long)&set) > 0);
  EXPECT_EQ(CPU_COUNT(&set), n_cpus);
}

static void* outlive_main(void* unused) {
  (void)unused;
  usleep(50000);
  _exit(7);
}

static void end_before_a_thread(void) {
  start(outlive_main, NULL);
  pthread_exit(NULL);
}

static void* end_at_once(void* unused) {
  (void)unused;
  pthread_exit(NULL);
}

static void have_children_without_descriptors(void) {
  join(start(end_at_once, NULL));  // for which libc opens libgcc_s
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}), 0);
  EXPECT_EQ(outcome_in_child(count_cpus), 0);
  EXPECT_EQ(outcome_in_child(end_before_a_thread), 7);
}

CASE(children_that_cannot_join_run_on_all_cores_until_their_last_thread_ends) {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  n_cpus = CPU_COUNT(&set);
  EXPECT_EQ(outcome_in_child(have_children_without_descriptors), 0);
}

CASE(the_child_can_use_threads) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(outcome_in_child(work_with_threads), 0);
    work_with_threads();
  }
}

static void know_oneself(void) {
  EXPECT_EQ(gettid(), getpid());
  EXPECT_EQ(syscall(SYS_gettid), syscall(SYS_getpid));
  EXPECT_EQ(pthread_kill(pthread_self(), 0), 0);
}

static void* fork_here(void* body) {
  EXPECT_EQ(outcome_in_child(*(void (**)(void))body), 0);
  return NULL;
}

CASE(from_any_thread) {
  void (*bodies[])(void) = {work_with_threads, know_oneself};
  for (int i = 0; i < 10; ++i) join(start(fork_here, &bodies[i % 2]));
}

static sem_t never;
static pid_t blocker;

static void* wait_for_ever(void* unused) {
  about_to_block(&blocker);
  for (;;) sem_wait(&never);
  return unused;
}

static void* spin_until(void* stop) {
  while (!__atomic_load_n((int*)stop, __ATOMIC_RELAXED)) {
  }
  return NULL;
}

CASE(while_other_threads_wait_and_compute) {
  int stop = 0;
  EXPECT_EQ(sem_init(&never, 0, 0), 0);
  pthread_t waiting = start(wait_for_ever, NULL), computing = start(spin_until, &stop);
  wait_until_blocked(&blocker);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outcome_in_child(work_with_threads), 0);
  EXPECT_EQ(pthread_tryjoin_np(waiting, NULL), EBUSY);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  join(computing);
  EXPECT_EQ(pthread_cancel(waiting), 0);
  join(waiting);
}

static void* return_at_once(void* unused) { return unused; }

static void create_one(void) { join(start(return_at_once, NULL)); }

static void create_many(void) {
  for (int i = 0; i < 100; ++i) create_one();
}

CASE(threads_that_ended_before_do_not_come_back) {
  create_many();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(outcome_in_child(create_many), 0);
}

static void* create_until(void* stop) {
  while (!__atomic_load_n((int*)stop, __ATOMIC_RELAXED)) create_one();
  return NULL;
}

// Whatever lock the others hold at that moment for being born or dying. Fewer children where the
// machine has much else to do.
CASE(while_other_threads_are_born_and_die) {
  enum { CREATORS = 4, ROUNDS = 15, CHILDREN = 8, SECONDS = 4 };
  time_t end = now_on(CLOCK_MONOTONIC).tv_sec + SECONDS;
  int stop = 0;
  pthread_t creators[CREATORS];
  for (int i = 0; i < CREATORS; ++i) creators[i] = start(create_until, &stop);
  for (int round = 0; round < ROUNDS && now_on(CLOCK_MONOTONIC).tv_sec < end; ++round) {
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; ++i) children[i] = fork_child(create_one);
    for (int i = 0; i < CHILDREN; ++i) EXPECT_EQ(outcome_of(children[i]), 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < CREATORS; ++i) join(creators[i]);
}

static void unlock_inherited(void) {
  EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  work_with_threads();
}

CASE(the_child_holds_what_its_thread_held) {
  EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_EQ(outcome_in_child(unlock_inherited), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

static pthread_key_t key;
static __thread int of_thread = 1;

static void keep_storage(void) {
  EXPECT_EQ(strcmp(pthread_getspecific(key), "kept"), 0);
  EXPECT_EQ(of_thread, 2);
}

static void* fork_with_storage(void* unused) {
  EXPECT_EQ(pthread_setspecific(key, "kept"), 0);
  of_thread = 2;
  EXPECT_EQ(outcome_in_child(keep_storage), 0);
  return unused;
}

CASE(the_child_keeps_thread_specific_data) {
  EXPECT_EQ(pthread_key_create(&key, NULL), 0);
  join(start(fork_with_storage, NULL));
  EXPECT_EQ(pthread_key_delete(key), 0);
}

static void fork_deeper(void) {
  static int depth;
  work_with_threads();
  if (++depth < 4) EXPECT_EQ(outcome_in_child(fork_deeper), 0);
}

CASE(children_have_children) { EXPECT_EQ(outcome_in_child(fork_deeper), 0); }

static void* fork_often(void* unused) {
  for (int i = 0; i < 8; ++i) EXPECT_EQ(outcome_in_child(create_many), 0);
  return unused;
}

CASE(several_threads_fork_at_once) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) threads[i] = start(fork_often, NULL);
  for (int i = 0; i < 4; ++i) join(threads[i]);
}

static void* return_in_child(void* outcome) {
  pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    atexit(know_oneself);
    return NULL;  // the only thread of the child: the process ends, with status 0
  }
  *(int*)outcome = outcome_of(pid);
  return NULL;
}

CASE(the_child_ends_when_its_only_thread_returns) {
  int outcome = -1;
  join(start(return_in_child, &outcome));
  EXPECT_EQ(outcome, 0);
}

static void exit_with_handlers(void) {
  atexit(work_with_threads);
  exit(6);
}

CASE(exit_handlers_of_the_child_may_use_threads) {
  EXPECT_EQ(outcome_in_child(exit_with_handlers), 6);
}

static char events[32];

static void note(const char* letter) {
  if (strlen(events) < sizeof events - 1) strcat(events, letter);
}
static void prepare_1(void) { note("p"); }
static void prepare_2(void) { note("P"); }
static void parent_1(void) { note("a"); }
static void parent_2(void) { note("A"); }
static void child_1(void) { note("c"); }
static void child_2(void) { note("C"); }

static void expect_child_events(void) { EXPECT_EQ(strcmp(events, "PpcC"), 0); }

CASE(handlers_run_in_their_order) {
  EXPECT_EQ(pthread_atfork(prepare_1, parent_1, child_1), 0);
  EXPECT_EQ(pthread_atfork(prepare_2, parent_2, child_2), 0);
  EXPECT_EQ(outcome_in_child(expect_child_events), 0);
  EXPECT_EQ(strcmp(events, "PpaA"), 0);
}

static void lock_before(void) { EXPECT_EQ(pthread_mutex_lock(&mutex), 0); }
static void unlock_after(void) { EXPECT_EQ(pthread_mutex_unlock(&mutex), 0); }

static int stop_locking;

static void* lock_often(void* unused) {
  while (!__atomic_load_n(&stop_locking, __ATOMIC_RELAXED)) {
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    sched_yield();
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  return unused;
}

CASE(handlers_keep_a_lock_consistent) {
  // The usual pattern: taken before, given back on both sides, though other threads fight for it.
  EXPECT_EQ(pthread_atfork(lock_before, unlock_after, unlock_after), 0);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) threads[i] = start(lock_often, NULL);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(outcome_in_child(work_with_threads), 0);
  __atomic_store_n(&stop_locking, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; ++i) join(threads[i]);
}

CASE(a_raw_fork_without_handlers) {
  for (int i = 0; i < 5; ++i) {
    pid_t pid = (pid_t)syscall(SYS_fork);
    EXPECT(pid >= 0);
    if (pid == 0) {
      syscall(SYS_write, 1, "", 0);
      syscall(SYS_exit_group, 9);
    }
    EXPECT_EQ(outcome_of(pid), 9);
  }
}
