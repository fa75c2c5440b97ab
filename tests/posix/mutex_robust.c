// Robust mutexes: the death of an owner, be it a thread or a process, is told to the next one, and
// the mutex is consistent again or never recoverable.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "blocked.h"
#include "child.h"
#include "deadline.h"
#include "expect.h"
#include "mutex_kinds.h"

// In memory that forked children share.
static struct shared {
  pthread_mutex_t mutex, second;
  pid_t blocker;
  int locked;
} * shared;

static void map_shared(void) {
  if (!shared) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  EXPECT(shared != MAP_FAILED);
}

#define FOR_EACH_ROBUST_KIND(kind) \
  map_shared();                    \
  FOR_EACH_MUTEX_KIND(kind)        \
  if (kind->robust == PTHREAD_MUTEX_ROBUST)

static void* lock_and_end(void* m) {
  EXPECT_EQ(pthread_mutex_lock(m), 0);
  return NULL;
}

static void* lock_and_exit(void* m) {
  EXPECT_EQ(pthread_mutex_lock(m), 0);
  pthread_exit(NULL);
}

static void* lock_and_be_cancelled(void* m) {
  EXPECT_EQ(pthread_mutex_lock(m), 0);
  EXPECT_EQ(pthread_cancel(pthread_self()), 0);
  pthread_testcancel();
  return NULL;
}

static void run(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

// The caller has just got EOWNERDEAD: makes it usable again, and requires that it is.
static void recover(void) {
  EXPECT_EQ(pthread_mutex_consistent(&shared->mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
  EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0);
  EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
  EXPECT_EQ(pthread_mutex_destroy(&shared->mutex), 0);
}

static pthread_mutex_t plain_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void* recover_and_end_as_another_ones_owner(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&shared->mutex), EOWNERDEAD);
  recover();
  EXPECT_EQ(pthread_mutex_lock(&plain_recursive), 0);
  return unused;
}
static void* find_it_busy(void* unused) {
  EXPECT_EQ(pthread_mutex_trylock(&plain_recursive), EBUSY);
  return unused;
}

// Who recovers one has taken it as well: it owns no other less for that.
CASE(no_later_thread_passes_for_an_owner_that_has_recovered_another) {
  FOR_EACH_ROBUST_KIND(kind) {
    init_mutex(&shared->mutex, kind, 0);
    run(lock_and_end, &shared->mutex);
    run(recover_and_end_as_another_ones_owner, NULL);
    run(find_it_busy, NULL);
    plain_recursive = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  }
}

CASE(a_thread_that_ends_leaves_owner_dead) {
  void* (*const ends[])(void*) = {lock_and_end, lock_and_exit, lock_and_be_cancelled};
  FOR_EACH_ROBUST_KIND(kind) {
    for (int i = 0; i < 9; ++i) {
      init_mutex(&shared->mutex, kind, i % 2);
      run(ends[i % 3], &shared->mutex);
      EXPECT_EQ(pthread_mutex_lock(&shared->mutex), EOWNERDEAD);
      recover();
    }
  }
}

CASE(every_way_to_lock_tells_it) {
  FOR_EACH_ROBUST_KIND(kind) {
    for (int way = 0; way < 3; ++way) {
      struct timespec at = far_off(CLOCK_REALTIME);
      init_mutex(&shared->mutex, kind, PTHREAD_PROCESS_PRIVATE);
      run(lock_and_end, &shared->mutex);
      if (way == 0) EXPECT_EQ(pthread_mutex_trylock(&shared->mutex), EOWNERDEAD);
      if (way == 1) EXPECT_EQ(pthread_mutex_timedlock(&shared->mutex, &at), EOWNERDEAD);
      if (way == 2) EXPECT_EQ(pthread_mutex_lock(&shared->mutex), EOWNERDEAD);
      recover();
    }
  }
}

CASE(unlocked_inconsistent_it_is_lost) {
  FOR_EACH_ROBUST_KIND(kind) {
    struct timespec at = far_off(CLOCK_REALTIME);
    init_mutex(&shared->mutex, kind, PTHREAD_PROCESS_PRIVATE);
    run(lock_and_end, &shared->mutex);
    EXPECT_EQ(pthread_mutex_lock(&shared->mutex), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(pthread_mutex_lock(&shared->mutex), ENOTRECOVERABLE);
      EXPECT_EQ(pthread_mutex_timedlock(&shared->mutex, &at), ENOTRECOVERABLE);
    }
    // Last, because glibc 2.36 leaves it locked.
    EXPECT_EQ(pthread_mutex_trylock(&shared->mutex), ENOTRECOVERABLE);
    EXPECT_EQ(pthread_mutex_consistent(&shared->mutex), EINVAL);
    EXPECT_EQ(pthread_mutex_destroy(&shared->mutex), 0);
  }
}

CASE(only_an_inconsistent_mutex_is_made_consistent) {
  FOR_EACH_ROBUST_KIND(kind) {
    init_mutex(&shared->mutex, kind, PTHREAD_PROCESS_PRIVATE);
    EXPECT_EQ(pthread_mutex_consistent(&shared->mutex), EINVAL);
    EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0);
    EXPECT_EQ(pthread_mutex_consistent(&shared->mutex), EINVAL);
    EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(&shared->mutex), 0);
  }
  init_mutex(&shared->mutex, &mutex_kinds[0], PTHREAD_PROCESS_PRIVATE);
  EXPECT_EQ(pthread_mutex_consistent(&shared->mutex), EINVAL);
  EXPECT_EQ(pthread_mutex_destroy(&shared->mutex), 0);
}

CASE(a_second_death_is_told_again) {
  FOR_EACH_ROBUST_KIND(kind) {
    init_mutex(&shared->mutex, kind, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < 3; ++i) {
      run(lock_and_end, &shared->mutex);
      EXPECT_EQ(pthread_mutex_lock(&shared->mutex), EOWNERDEAD);
      EXPECT_EQ(pthread_mutex_consistent(&shared->mutex), 0);
      EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
    }
    EXPECT_EQ(pthread_mutex_destroy(&shared->mutex), 0);
  }
}

static pthread_barrier_t gate;

static void* hold_then_end(void* m) {
  EXPECT_EQ(pthread_mutex_lock(m), 0);
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);
  return NULL;
}

static void* expect_owner_dead(void* m) {
  about_to_block(&shared->blocker);
  EXPECT_EQ(pthread_mutex_lock(m), EOWNERDEAD);
  EXPECT_EQ(pthread_mutex_consistent(m), 0);
  EXPECT_EQ(pthread_mutex_unlock(m), 0);
  return NULL;
}

CASE(a_waiting_thread_is_woken_by_the_death) {
  FOR_EACH_ROBUST_KIND(kind) {
    for (int i = 0; i < 5; ++i) {
      pthread_t holder, waiter;
      init_mutex(&shared->mutex, kind, i % 2);
      EXPECT_EQ(pthread_barrier_init(&gate, NULL, 2), 0);
      EXPECT_EQ(pthread_create(&holder, NULL, hold_then_end, &shared->mutex), 0);
      pthread_barrier_wait(&gate);
      EXPECT_EQ(pthread_create(&waiter, NULL, expect_owner_dead, &shared->mutex), 0);
      wait_until_blocked(&shared->blocker);
      pthread_barrier_wait(&gate);
      EXPECT_EQ(pthread_join(holder, NULL), 0);
      EXPECT_EQ(pthread_join(waiter, NULL), 0);
      EXPECT_EQ(pthread_barrier_destroy(&gate), 0);
      EXPECT_EQ(pthread_mutex_destroy(&shared->mutex), 0);
    }
  }
}

static void* lock_both_and_end(void* unused) {
  EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0);
  EXPECT_EQ(pthread_mutex_lock(&shared->second), 0);
  return unused;
}

CASE(all_that_a_thread_held_are_told) {
  FOR_EACH_ROBUST_KIND(kind) {
    init_mutex(&shared->mutex, kind, PTHREAD_PROCESS_PRIVATE);
    init_mutex(&shared->second, kind, PTHREAD_PROCESS_PRIVATE);
    run(lock_both_and_end, NULL);
    EXPECT_EQ(pthread_mutex_trylock(&shared->second), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_trylock(&shared->mutex), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_unlock(&shared->second), 0);
    EXPECT_EQ(pthread_mutex_destroy(&shared->second), 0);
    recover();
  }
}

static void exit_with_lock(void) { EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0); }

static void be_killed_with_lock(void) {
  EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0);
  kill(getpid(), SIGKILL);
}

static void exec_with_lock(void) {
  EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0);
  execl("/bin/true", "true", (char*)NULL);
}

static void exit_with_lock_in_a_thread(void) {
  pthread_t thread;
  EXPECT_EQ(pthread_barrier_init(&gate, NULL, 2), 0);
  EXPECT_EQ(pthread_create(&thread, NULL, hold_then_end, &shared->mutex), 0);
  pthread_barrier_wait(&gate);
}

CASE(a_process_that_ends_leaves_owner_dead) {
  void (*const ends[])(void) = {exit_with_lock, be_killed_with_lock, exec_with_lock,
                                exit_with_lock_in_a_thread};
  FOR_EACH_ROBUST_KIND(kind) {
    for (int i = 0; i < 4; ++i) {
      init_mutex(&shared->mutex, kind, PTHREAD_PROCESS_SHARED);
      EXPECT_EQ(outcome_in_child(ends[i]), i == 1 ? -SIGKILL : 0);
      EXPECT_EQ(pthread_mutex_lock(&shared->mutex), EOWNERDEAD);
      recover();
    }
  }
}

static void hold_until_killed(void) {
  EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0);
  __atomic_store_n(&shared->locked, 1, __ATOMIC_SEQ_CST);
  for (;;) pause();
}

CASE(a_waiting_thread_is_woken_by_the_death_of_a_process) {
  FOR_EACH_ROBUST_KIND(kind) {
    pthread_t waiter;
    init_mutex(&shared->mutex, kind, PTHREAD_PROCESS_SHARED);
    __atomic_store_n(&shared->locked, 0, __ATOMIC_SEQ_CST);
    pid_t holder = fork_child(hold_until_killed);
    while (!__atomic_load_n(&shared->locked, __ATOMIC_SEQ_CST)) sched_yield();
    EXPECT_EQ(pthread_create(&waiter, NULL, expect_owner_dead, &shared->mutex), 0);
    wait_until_blocked(&shared->blocker);
    EXPECT_EQ(kill(holder, SIGKILL), 0);
    EXPECT_EQ(outcome_of(holder), -SIGKILL);
    EXPECT_EQ(pthread_join(waiter, NULL), 0);
    EXPECT_EQ(pthread_mutex_destroy(&shared->mutex), 0);
  }
}
