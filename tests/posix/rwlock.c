// Read-write locks: readers together, writers alone, both preferences, errors and freed memory.
#include <pthread.h>
#include <sys/mman.h>

#include "blocked.h"
#include "deadline.h"
#include "expect.h"

static pthread_rwlock_t rwlock;
static pid_t blocker;

static void init(int kind) {
  pthread_rwlockattr_t attr;
  EXPECT_EQ(pthread_rwlockattr_init(&attr), 0);
  EXPECT_EQ(pthread_rwlockattr_setkind_np(&attr, kind), 0);
  EXPECT_EQ(pthread_rwlock_init(&rwlock, &attr), 0);
  EXPECT_EQ(pthread_rwlockattr_destroy(&attr), 0);
}

static const int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                            PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
enum { KINDS = 3 };

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void run(void* (*body)(void*), void* argument) {
  EXPECT_EQ(pthread_join(start(body, argument), NULL), 0);
}

static void unlock(void) { EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0); }

static pthread_barrier_t gate;

static void* read_together(void* unused) {
  EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
  pthread_barrier_wait(&gate);  // nobody passes unless all readers are in
  unlock();
  return unused;
}

CASE(readers_are_in_together) {
  enum { READERS = 12 };
  for (int k = 0; k < KINDS; ++k) {
    init(kinds[k]);
    EXPECT_EQ(pthread_barrier_init(&gate, NULL, READERS), 0);
    for (int round = 0; round < 10; ++round) {
      pthread_t threads[READERS];
      for (int i = 0; i < READERS; ++i) threads[i] = start(read_together, NULL);
      for (int i = 0; i < READERS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    }
    EXPECT_EQ(pthread_barrier_destroy(&gate), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

static void* find_read_locked(void* unused) {
  EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock), EBUSY);
  EXPECT_EQ(pthread_rwlock_tryrdlock(&rwlock), 0);
  unlock();
  return unused;
}

static void* find_write_locked(void* unused) {
  EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock), EBUSY);
  EXPECT_EQ(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
  return unused;
}

static void* find_free(void* unused) {
  EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock), 0);
  unlock();
  EXPECT_EQ(pthread_rwlock_tryrdlock(&rwlock), 0);
  unlock();
  return unused;
}

CASE(what_others_find) {
  for (int k = 0; k < KINDS; ++k) {
    init(kinds[k]);
    errno = 4711;
    run(find_free, NULL);
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    run(find_read_locked, NULL);
    unlock();
    run(find_read_locked, NULL);
    unlock();
    run(find_free, NULL);
    EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
    run(find_write_locked, NULL);
    unlock();
    run(find_free, NULL);
    EXPECT_EQ(errno, 4711);
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

CASE(a_writer_that_locks_again_is_told) {
  struct timespec at = far_off(CLOCK_REALTIME);
  for (int k = 0; k < KINDS; ++k) {
    init(kinds[k]);
    EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
    EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), EDEADLK);
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), EDEADLK);
    EXPECT_EQ(pthread_rwlock_timedwrlock(&rwlock, &at), EDEADLK);
    EXPECT_EQ(pthread_rwlock_timedrdlock(&rwlock, &at), EDEADLK);
    EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock), EBUSY);
    EXPECT_EQ(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
    unlock();
    run(find_free, NULL);
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

enum { THREADS = 8, ROUNDS = 800 };
static long written, twin;
static int writers_inside;

static void* mix(void* number) {
  unsigned seed = (unsigned)(long)number;
  for (int i = 0; i < ROUNDS; ++i) {
    seed = seed * 1103515245 + 12345;
    if (seed >> 16 & 3) {
      EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
      EXPECT_EQ(written, twin);
      if (i % 16 == 0) sched_yield();
      EXPECT_EQ(writers_inside, 0);
    } else {
      EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
      EXPECT_EQ(writers_inside++, 0);
      ++written;
      if (i % 16 == 0) sched_yield();
      ++twin;
      --writers_inside;
    }
    unlock();
  }
  return NULL;
}

static pthread_rwlock_t initialised = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t initialised_for_writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

CASE(writers_are_alone) {
  for (int k = 0; k < KINDS + 2; ++k) {
    pthread_t threads[THREADS];
    if (k < KINDS) init(kinds[k]);
    if (k == KINDS) rwlock = initialised;
    if (k == KINDS + 1) rwlock = initialised_for_writers;
    for (long i = 0; i < THREADS; ++i) threads[i] = start(mix, (void*)i);
    for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT_EQ(written, twin);
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

static void* write_once(void* unused) {
  about_to_block(&blocker);
  EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
  unlock();
  return unused;
}

static void* read_once(void* unused) {
  about_to_block(&blocker);
  EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
  unlock();
  return unused;
}

CASE(waiting_writers_and_readers_get_in) {
  for (int i = 0; i < 10 * KINDS; ++i) {
    init(kinds[i % KINDS]);
    EXPECT_EQ(i % 2 ? pthread_rwlock_wrlock(&rwlock) : pthread_rwlock_rdlock(&rwlock), 0);
    pthread_t writer = start(write_once, NULL);
    wait_until_blocked(&blocker);
    pthread_t reader = start(read_once, NULL);
    unlock();
    EXPECT_EQ(pthread_join(writer, NULL), 0);
    EXPECT_EQ(pthread_join(reader, NULL), 0);
    blocker = 0;
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

CASE(preferring_readers_a_waiting_writer_keeps_no_reader_out) {
  // Recursive read locks must not deadlock: this is what the default kind promises.
  for (int i = 0; i < 10; ++i) {
    init(PTHREAD_RWLOCK_PREFER_READER_NP);
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    pthread_t writer = start(write_once, NULL);
    wait_until_blocked(&blocker);
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    run(read_once, NULL);
    blocker = 0;
    unlock();
    unlock();
    EXPECT_EQ(pthread_join(writer, NULL), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

static void* meet_reading(void* unused) {
  about_to_block(&blocker);
  return read_together(unused);
}

CASE(preferring_readers_those_who_wait_meet_past_the_writers_between_them) {
  enum { WAITERS = 5 };
  for (int writers = 0; writers < 1 << WAITERS; ++writers) {
    init(kinds[writers % 2]);
    EXPECT_EQ(pthread_barrier_init(&gate, NULL, WAITERS + 1 - __builtin_popcount(writers)), 0);
    EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; ++i) {
      threads[i] = start(writers >> i & 1 ? write_once : meet_reading, NULL);
      wait_until_blocked(&blocker);
    }
    unlock();
    read_together(NULL);
    for (int i = 0; i < WAITERS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT_EQ(pthread_barrier_destroy(&gate), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

static int writes;

static void* write_and_count(void* unused) {
  about_to_block(&blocker);
  EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
  ++writes;
  unlock();
  return unused;
}

static void* read_after_writer(void* unused) {
  EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
  EXPECT_EQ(writes, 1);
  unlock();
  return unused;
}

CASE(preferring_writers_a_waiting_writer_goes_first) {
  for (int i = 0; i < 60; ++i) {
    init(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    writes = 0;
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    pthread_t writer = start(write_and_count, NULL);
    // Once it waits, no further reader is let in.
    while (pthread_rwlock_tryrdlock(&rwlock) == 0) {
      unlock();
      sched_yield();
    }
    pthread_t readers[3];
    for (int r = 0; r < 3; ++r) readers[r] = start(read_after_writer, NULL);
    unlock();
    EXPECT_EQ(pthread_join(writer, NULL), 0);
    for (int r = 0; r < 3; ++r) EXPECT_EQ(pthread_join(readers[r], NULL), 0);
    blocker = 0;
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  }
}

CASE(attributes_keep_what_they_are_given) {
  pthread_rwlockattr_t attr;
  int value;
  EXPECT_EQ(pthread_rwlockattr_init(&attr), 0);
  EXPECT_EQ(pthread_rwlockattr_getkind_np(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_RWLOCK_DEFAULT_NP);
  EXPECT_EQ(pthread_rwlockattr_setkind_np(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_rwlockattr_setpshared(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_rwlockattr_getpshared(&attr, &value), 0);
  EXPECT_EQ(value, PTHREAD_PROCESS_PRIVATE);
  EXPECT_EQ(pthread_rwlockattr_destroy(&attr), 0);
}

struct counted {
  pthread_rwlock_t rwlock;
  int references;
};

static void* drop_reference(void* object) {
  struct counted* counted = object;
  EXPECT_EQ(pthread_rwlock_wrlock(&counted->rwlock), 0);
  int last = --counted->references == 0;
  EXPECT_EQ(pthread_rwlock_unlock(&counted->rwlock), 0);
  if (last) {
    EXPECT_EQ(pthread_rwlock_destroy(&counted->rwlock), 0);
    EXPECT_EQ(munmap(counted, sizeof *counted), 0);
  }
  return NULL;
}

CASE(nobody_touches_it_once_the_last_owner_has_it) {
  for (int i = 0; i < 300; ++i) {
    struct counted* counted =
        mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(counted != MAP_FAILED);
    EXPECT_EQ(pthread_rwlock_init(&counted->rwlock, NULL), 0);
    counted->references = 3;
    pthread_t a = start(drop_reference, counted), b = start(drop_reference, counted);
    drop_reference(counted);
    EXPECT_EQ(pthread_join(a, NULL), 0);
    EXPECT_EQ(pthread_join(b, NULL), 0);
  }
}
