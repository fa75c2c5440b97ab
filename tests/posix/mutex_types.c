// Mutexes of every kind: exclusion, ownership and its errors, recursion, static initialisers, and
// memory that may be freed as soon as the last owner has it.
#include <pthread.h>
#include <sys/mman.h>

#include "blocked.h"
#include "expect.h"
#include "mutex_kinds.h"

static pthread_mutex_t mutex;

static void run(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

enum { THREADS = 6, ROUNDS = 2000 };
static long counter;
static int inside;

static void* count(void* m) {
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(pthread_mutex_lock(m), 0);
    EXPECT_EQ(inside++, 0);
    ++counter;
    if (i % 64 == 0) sched_yield();
    EXPECT_EQ(--inside, 0);
    EXPECT_EQ(pthread_mutex_unlock(m), 0);
  }
  return NULL;
}

static void expect_exclusion(pthread_mutex_t* m) {
  pthread_t threads[THREADS];
  counter = 0;
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, count, m), 0);
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  EXPECT_EQ(counter, THREADS * ROUNDS);
}

CASE(one_thread_at_a_time) {
  FOR_EACH_MUTEX_KIND(kind) {
    init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
    expect_exclusion(&mutex);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  }
}

static pthread_mutex_t initialised[] = {
    PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
    PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
};

CASE(static_initialisers) {
  for (int i = 0; i < 4; ++i) {
    expect_exclusion(&initialised[i]);
    EXPECT_EQ(pthread_mutex_lock(&initialised[i]), 0);
    EXPECT_EQ(pthread_mutex_trylock(&initialised[i]), i == 1 ? 0 : EBUSY);
    if (i == 1) EXPECT_EQ(pthread_mutex_unlock(&initialised[i]), 0);
    if (i == 2) EXPECT_EQ(pthread_mutex_lock(&initialised[i]), EDEADLK);
    EXPECT_EQ(pthread_mutex_unlock(&initialised[i]), 0);
    if (i == 1 || i == 2) EXPECT_EQ(pthread_mutex_unlock(&initialised[i]), EPERM);
    EXPECT_EQ(pthread_mutex_destroy(&initialised[i]), 0);
  }
}

static void* try_and_fail(void* m) {
  EXPECT_EQ(pthread_mutex_trylock(m), EBUSY);
  return NULL;
}

static void* unlock_and_fail(void* m) {
  EXPECT_EQ(pthread_mutex_unlock(m), EPERM);
  return NULL;
}

static void* try_and_succeed(void* m) {
  EXPECT_EQ(pthread_mutex_trylock(m), 0);
  EXPECT_EQ(pthread_mutex_unlock(m), 0);
  return NULL;
}

static int knows_its_owner(const struct mutex_kind* kind) {
  return kind->type == PTHREAD_MUTEX_RECURSIVE || kind->type == PTHREAD_MUTEX_ERRORCHECK ||
         kind->robust == PTHREAD_MUTEX_ROBUST;
}

CASE(others_find_it_busy_and_cannot_unlock_it) {
  FOR_EACH_MUTEX_KIND(kind) {
    init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    run(try_and_fail, &mutex);
    if (knows_its_owner(kind)) run(unlock_and_fail, &mutex);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    run(try_and_succeed, &mutex);
    if (knows_its_owner(kind)) run(unlock_and_fail, &mutex);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  }
}

CASE(the_owner_locks_again) {
  FOR_EACH_MUTEX_KIND(kind) {
    init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    switch (kind->type) {
      case PTHREAD_MUTEX_RECURSIVE:
        EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
        EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
        for (int i = 0; i < 2; ++i) {
          EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
          run(try_and_fail, &mutex);
        }
        break;
      case PTHREAD_MUTEX_ERRORCHECK:
        EXPECT_EQ(pthread_mutex_lock(&mutex), EDEADLK);
        EXPECT(pthread_mutex_trylock(&mutex) != 0);  // EBUSY, or EDEADLK for some kinds
        break;
      default:
        EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
    }
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    run(try_and_succeed, &mutex);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  }
}

CASE(a_locked_mutex_cannot_be_destroyed) {
  for (int i = 0; i < 4; ++i) {  // of robust and inheriting ones glibc does not say
    init_mutex(&mutex, &mutex_kinds[i], PTHREAD_PROCESS_PRIVATE);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), EBUSY);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), EBUSY);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
  }
}

static pid_t blocker;

static void* lock_and_unlock(void* m) {
  about_to_block(&blocker);
  EXPECT_EQ(pthread_mutex_lock(m), 0);
  EXPECT_EQ(pthread_mutex_unlock(m), 0);
  return NULL;
}

CASE(a_waiter_gets_it_when_it_is_unlocked) {
  FOR_EACH_MUTEX_KIND(kind) {
    for (int i = 0; i < 5; ++i) {
      pthread_t thread;
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      EXPECT_EQ(pthread_create(&thread, NULL, lock_and_unlock, &mutex), 0);
      wait_until_blocked(&blocker);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      EXPECT_EQ(pthread_join(thread, NULL), 0);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}

CASE(errno_is_left_alone) {
  FOR_EACH_MUTEX_KIND(kind) {
    init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
    errno = 4711;
    expect_exclusion(&mutex);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    if (knows_its_owner(kind)) EXPECT_EQ(pthread_mutex_unlock(&mutex), EPERM);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    EXPECT_EQ(errno, 4711);
  }
}

static int enough;

static void* lock_again_and_again(void* m) {
  while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
    EXPECT_EQ(pthread_mutex_lock(m), 0);
    sched_yield();
    EXPECT_EQ(pthread_mutex_unlock(m), 0);
  }
  return NULL;
}

CASE(those_who_lock_again_at_once_do_not_keep_others_out) {
  // POSIX promises no order, but whoever waits must get it some time.
  enum { MOST = 5 };
  FOR_EACH_MUTEX_KIND(kind) {
    for (int count = 1; count <= MOST; ++count) {
      pthread_t threads[MOST];
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      __atomic_store_n(&enough, 0, __ATOMIC_RELAXED);
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(pthread_create(&threads[i], NULL, lock_again_and_again, &mutex), 0);
      }
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
        EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
        if (i % 4 == 0) sched_yield();
      }
      __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
      for (int i = 0; i < count; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}

// What is locked again and again by its holder keeps those who wait from it all along.
static void* lock_within(void* m) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(pthread_mutex_lock(m), 0);
    for (int j = 0; j < 12; ++j) {
      EXPECT_EQ(pthread_mutex_lock(m), 0);
      for (volatile int work = 0; work < 3000; ++work) {
      }
      if (j % 4 == 0) sched_yield();
      EXPECT_EQ(pthread_mutex_unlock(m), 0);
    }
    EXPECT_EQ(pthread_mutex_unlock(m), 0);
  }
  return NULL;
}

CASE(its_holder_may_always_lock_it_again) {
  enum { MOST = 6 };
  FOR_EACH_MUTEX_KIND(kind) {
    if (kind->type != PTHREAD_MUTEX_RECURSIVE) continue;
    for (int count = 2; count <= MOST; count += 2) {
      pthread_t threads[MOST];
      init_mutex(&mutex, kind, PTHREAD_PROCESS_PRIVATE);
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(pthread_create(&threads[i], NULL, lock_within, &mutex), 0);
      }
      for (int i = 0; i < count; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
      EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    }
  }
}

struct counted {
  pthread_mutex_t mutex;
  int references;
};

// The usual way to share an object: whoever drops the last reference frees it.
static void* drop_reference(void* object) {
  struct counted* counted = object;
  EXPECT_EQ(pthread_mutex_lock(&counted->mutex), 0);
  int last = --counted->references == 0;
  EXPECT_EQ(pthread_mutex_unlock(&counted->mutex), 0);
  if (last) {
    EXPECT_EQ(pthread_mutex_destroy(&counted->mutex), 0);
    EXPECT_EQ(munmap(counted, sizeof *counted), 0);
  }
  return NULL;
}

CASE(nobody_touches_it_once_the_last_owner_has_it) {
  for (int kind = 0; kind < 4; ++kind) {
    for (int i = 0; i < 150; ++i) {
      struct counted* counted =
          mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      EXPECT(counted != MAP_FAILED);
      init_mutex(&counted->mutex, &mutex_kinds[kind], PTHREAD_PROCESS_PRIVATE);
      counted->references = 3;
      pthread_t threads[2];
      for (int t = 0; t < 2; ++t) {
        EXPECT_EQ(pthread_create(&threads[t], NULL, drop_reference, counted), 0);
      }
      drop_reference(counted);
      for (int t = 0; t < 2; ++t) EXPECT_EQ(pthread_join(threads[t], NULL), 0);
    }
  }
}

static void* keep_locked(void* m) {
  EXPECT_EQ(pthread_mutex_lock(m), 0);
  return NULL;
}

CASE(abandoned_by_a_thread_it_belongs_to_no_later_one) {
  for (int i = 0; i < 4; ++i) {
    init_mutex(&mutex, &mutex_kinds[i], PTHREAD_PROCESS_PRIVATE);
    run(keep_locked, &mutex);
    for (int later = 0; later < 5; ++later) {
      run(try_and_fail, &mutex);
      if (knows_its_owner(&mutex_kinds[i])) run(unlock_and_fail, &mutex);
    }
  }
}

CASE(attributes_keep_what_they_are_given) {
  pthread_mutexattr_t attr;
  int value;
  EXPECT_EQ(pthread_mutexattr_init(&attr), 0);
  EXPECT_EQ(pthread_mutexattr_gettype(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_MUTEX_DEFAULT);
  EXPECT_EQ(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE), 0);
  EXPECT_EQ(pthread_mutexattr_gettype(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_MUTEX_RECURSIVE);
  EXPECT_EQ(pthread_mutexattr_settype(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_mutexattr_setrobust(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_mutexattr_setprotocol(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_mutexattr_setpshared(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_mutexattr_getpshared(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_PROCESS_PRIVATE);
  EXPECT_EQ(pthread_mutexattr_destroy(&attr), 0);
}
