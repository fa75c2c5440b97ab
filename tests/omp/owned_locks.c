// Members that share an OS thread are owners of their own: of mutexes that libc or the kernel bind
// to a thread, and of locks for writing, also where processes share them. One waits while another
// has it, and the holder goes on.
// scheduler: roost
// threads: 2 7 24
// reason: without Roost, mutexes that have owners are the OS threads'
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

struct kind {
  int type, robust, protocol, shared;
};

// In memory that a child shares.
static struct shared {
  pthread_mutex_t mutex;
  pthread_rwlock_t lock;
  pthread_cond_t changed;
  int inside, readers, turn, stop;
} * shared;

static void init_mutex(struct kind kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, kind.type);
  pthread_mutexattr_setrobust(&attributes, kind.robust);
  pthread_mutexattr_setprotocol(&attributes, kind.protocol);
  pthread_mutexattr_setpshared(&attributes, kind.shared);
  EXPECT_EQ(pthread_mutex_init(&shared->mutex, &attributes), 0);
  pthread_mutexattr_destroy(&attributes);
}

static void init_condition(int process_shared) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setpshared(&attributes, process_shared);
  EXPECT_EQ(pthread_cond_init(&shared->changed, &attributes), 0);
  pthread_condattr_destroy(&attributes);
}

static void init_lock(void) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  EXPECT_EQ(pthread_rwlock_init(&shared->lock, &attributes), 0);
  pthread_rwlockattr_destroy(&attributes);
}

// Runs a body for every kind that has an owner, private and shared.
static void for_each_kind(int size, int rounds, void (*body)(struct kind, int size, int rounds)) {
  static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                              PTHREAD_MUTEX_ERRORCHECK};
  for (int i = 0; i < 3 * 2 * 2 * 2; ++i) {
    struct kind kind = {types[i % 3], i / 3 % 2, i / 6 % 2 ? PTHREAD_PRIO_INHERIT : 0, i / 12};
    init_mutex(kind);
    body(kind, size, rounds);
    EXPECT_EQ(pthread_mutex_destroy(&shared->mutex), 0);
  }
}

static int lock_in_turn(int way) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += 100;
  if (way % 3 == 0) return pthread_mutex_lock(&shared->mutex);
  if (way % 3 == 1) return pthread_mutex_timedlock(&shared->mutex, &at);
  int result;
  while ((result = pthread_mutex_trylock(&shared->mutex)) == EBUSY) usleep(50);
  return result;
}

// The section waits: siblings run meanwhile, and come for the mutex.
static void sections(struct kind kind, int size, int rounds) {
#pragma omp parallel num_threads(size)
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(lock_in_turn(i), 0);
    EXPECT_EQ(add(&shared->inside, 1), 1);
    if (kind.type != PTHREAD_MUTEX_NORMAL) {
      int again = pthread_mutex_lock(&shared->mutex);
      EXPECT_EQ(again, kind.type == PTHREAD_MUTEX_RECURSIVE ? 0 : EDEADLK);
      if (again == 0) EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
    }
    usleep(10);
    add(&shared->inside, -1);
    EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
    if (i % 3 == 0) {
#pragma omp barrier
    }
  }
}

// A token goes round by one condition variable.
static void turns(int size, int rounds) {
  int passed = 0;
  shared->turn = 0;
#pragma omp parallel num_threads(size)
  for (int i = 0; i < rounds; ++i) {
    int me = omp_get_thread_num();
    EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0);
    while (shared->turn != me) EXPECT_EQ(pthread_cond_wait(&shared->changed, &shared->mutex), 0);
    EXPECT_EQ(add(&shared->inside, 1), 1);
    usleep(10);
    add(&passed, 1);
    shared->turn = (me + 1) % size;
    add(&shared->inside, -1);
    EXPECT_EQ(pthread_cond_broadcast(&shared->changed), 0);
    EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
  }
  EXPECT_EQ(passed, size * rounds);
}
static void turns_by_condition(struct kind kind, int size, int rounds) {
  for (int process_shared = 0; process_shared <= kind.shared; ++process_shared) {
    init_condition(process_shared);
    turns(size, rounds);
    // A wait for what does not come ends at its time.
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec = (at.tv_nsec + 5000000) % 1000000000;
    if (at.tv_nsec < 5000000) ++at.tv_sec;
#pragma omp parallel num_threads(size)
    {
      int result;
      EXPECT_EQ(pthread_mutex_lock(&shared->mutex), 0);
      while ((result = pthread_cond_timedwait(&shared->changed, &shared->mutex, &at)) == 0) {
      }
      EXPECT_EQ(result, ETIMEDOUT);
      EXPECT_EQ(pthread_mutex_unlock(&shared->mutex), 0);
    }
    EXPECT_EQ(pthread_cond_destroy(&shared->changed), 0);
  }
}

// Another process has it now and then, and nobody here is told when it is free.
static void beside_a_process(struct kind kind, int size, int rounds) {
  if (!kind.shared) return;
  shared->stop = 0;
  pid_t child = fork();
  if (child == 0) {
    while (!look(&shared->stop)) {
      if (pthread_mutex_lock(&shared->mutex) != 0 || add(&shared->inside, 1) != 1) _exit(1);
      usleep(200);
      add(&shared->inside, -1);
      if (pthread_mutex_unlock(&shared->mutex) != 0) _exit(1);
      usleep(200);
    }
    _exit(0);
  }
  sections(kind, size, rounds);
  add(&shared->stop, 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

static void readers_and_writers(int size, int rounds) {
  init_lock();
#pragma omp parallel num_threads(size)
  for (int i = 0; i < rounds; ++i) {
    if ((omp_get_thread_num() + i) % 3 == 0) {
      EXPECT_EQ(pthread_rwlock_wrlock(&shared->lock), 0);
      EXPECT_EQ(add(&shared->inside, 1), 1);
      EXPECT_EQ(look(&shared->readers), 0);
      usleep(10);
      add(&shared->inside, -1);
    } else {
      EXPECT_EQ(pthread_rwlock_rdlock(&shared->lock), 0);
      add(&shared->readers, 1);
      EXPECT_EQ(look(&shared->inside), 0);
      usleep(10);
      add(&shared->readers, -1);
    }
    EXPECT_EQ(pthread_rwlock_unlock(&shared->lock), 0);
  }
  EXPECT_EQ(pthread_rwlock_destroy(&shared->lock), 0);
}

int main(void) {
  allow_nesting();
  int size = omp_get_max_threads();
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(shared != MAP_FAILED);
  for_each_kind(size, 6, sections);
  for_each_kind(size, 3, turns_by_condition);
  for_each_kind(size, 4, beside_a_process);
  readers_and_writers(size, 10);
  return verdict();
}
