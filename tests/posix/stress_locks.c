// Random mixes of mutexes, condition variables, semaphores, read-write locks, barriers, sleeps and
// yields by many threads; whatever the order, the books must balance.
//
// Each round has a seed, which is printed. POSIX_SEED in the environment replaces the first.
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>

#include "deadline.h"
#include "expect.h"

enum { THREADS = 12, STEPS = 250, OBJECTS = 3, ROUNDS = 8 };

static pthread_mutex_t mutexes[OBJECTS];
static long counted[OBJECTS];  // under the mutex of the same number
static int inside[OBJECTS];

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled;
static long queued, put, got;

static sem_t tokens;
static int token_holders;
enum { TOKENS = 3 };

static pthread_rwlock_t rwlock;
static long written, twin;

static pthread_barrier_t barrier;
static int arrived;

struct worker {
  pthread_t thread;
  uint64_t state;
  int number;
  long counts[OBJECTS], writes;
};

static unsigned next(struct worker* w, unsigned below) {
  w->state = w->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(w->state >> 33) % below;
}

static void linger(struct worker* w) {
  switch (next(w, 8)) {
    case 0:
      sched_yield();
      break;
    case 1:
      nanosleep(&(struct timespec){0, 1000 + (long)next(w, 50000)}, NULL);
      break;
    case 2:
      for (volatile unsigned i = next(w, 3000); i > 0; --i) {
      }
      break;
    default:
      break;
  }
}

static void use_mutex(struct worker* w) {
  unsigned i = next(w, OBJECTS);
  struct timespec at = in_ms(CLOCK_REALTIME, (long)next(w, 3));
  int error = 0;
  switch (next(w, 3)) {
    case 0:
      error = pthread_mutex_trylock(&mutexes[i]);
      break;
    case 1:
      error = pthread_mutex_timedlock(&mutexes[i], &at);
      break;
    default:
      error = pthread_mutex_lock(&mutexes[i]);
      break;
  }
  if (error) {
    EXPECT(error == EBUSY || error == ETIMEDOUT);
    return;
  }
  EXPECT_EQ(inside[i]++, 0);
  ++counted[i];
  ++w->counts[i];
  linger(w);
  EXPECT_EQ(--inside[i], 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutexes[i]), 0);
}

// What is put can be taken; who takes waits for a short time only, so that nobody has to balance.
static void use_queue(struct worker* w) {
  EXPECT_EQ(pthread_mutex_lock(&queue_mutex), 0);
  if (next(w, 2)) {
    ++queued;
    ++put;
    EXPECT_EQ(
        next(w, 4) ? pthread_cond_signal(&queue_filled) : pthread_cond_broadcast(&queue_filled), 0);
  } else {
    struct timespec at = in_ms(CLOCK_MONOTONIC, (long)next(w, 3));
    int error = 0;
    while (queued == 0 && error == 0) {
      error = pthread_cond_timedwait(&queue_filled, &queue_mutex, &at);
    }
    EXPECT(error == 0 || error == ETIMEDOUT);
    if (queued > 0) {
      --queued;
      ++got;
    }
  }
  EXPECT_EQ(pthread_mutex_unlock(&queue_mutex), 0);
}

static void use_tokens(struct worker* w) {
  if (next(w, 2)) {
    struct timespec at = in_ms(CLOCK_MONOTONIC, (long)next(w, 3));
    if (sem_clockwait(&tokens, CLOCK_MONOTONIC, &at) != 0) {
      EXPECT_EQ(errno, ETIMEDOUT);
      return;
    }
  } else {
    EXPECT_EQ(sem_wait(&tokens), 0);
  }
  EXPECT(__atomic_add_fetch(&token_holders, 1, __ATOMIC_SEQ_CST) <= TOKENS);
  linger(w);
  __atomic_sub_fetch(&token_holders, 1, __ATOMIC_SEQ_CST);
  EXPECT_EQ(sem_post(&tokens), 0);
}

static void use_rwlock(struct worker* w) {
  if (next(w, 3)) {
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    EXPECT_EQ(written, twin);
    linger(w);
    EXPECT_EQ(written, twin);
  } else {
    EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), 0);
    ++written;
    linger(w);
    ++twin;
    ++w->writes;
  }
  EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0);
}

static void meet(int times) {
  __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
  pthread_barrier_wait(&barrier);
  EXPECT(__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) >= times * THREADS);
}

static void* work(void* worker) {
  struct worker* w = worker;
  for (int step = 1; step <= STEPS; ++step) {
    switch (next(w, 5)) {
      case 0:
        use_mutex(w);
        break;
      case 1:
        use_queue(w);
        break;
      case 2:
        use_tokens(w);
        break;
      case 3:
        use_rwlock(w);
        break;
      default:
        linger(w);
        break;
    }
    if (step % 50 == 0) meet(step / 50);  // all of them, in the same step
  }
  return NULL;
}

static void run_round(uint64_t seed) {
  static struct worker workers[THREADS];
  static const int types[OBJECTS] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK,
                                     PTHREAD_MUTEX_ADAPTIVE_NP};
  dprintf(1, "  seed %llu\n", (unsigned long long)seed);
  for (int i = 0; i < OBJECTS; ++i) {
    pthread_mutexattr_t attr;
    EXPECT_EQ(pthread_mutexattr_init(&attr), 0);
    EXPECT_EQ(pthread_mutexattr_settype(&attr, types[i]), 0);
    EXPECT_EQ(pthread_mutex_init(&mutexes[i], &attr), 0);
    EXPECT_EQ(pthread_mutexattr_destroy(&attr), 0);
    counted[i] = 0;
  }
  pthread_condattr_t attr;
  EXPECT_EQ(pthread_condattr_init(&attr), 0);
  EXPECT_EQ(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), 0);
  EXPECT_EQ(pthread_cond_init(&queue_filled, &attr), 0);
  EXPECT_EQ(pthread_condattr_destroy(&attr), 0);
  EXPECT_EQ(sem_init(&tokens, 0, TOKENS), 0);
  EXPECT_EQ(pthread_rwlock_init(&rwlock, NULL), 0);
  EXPECT_EQ(pthread_barrier_init(&barrier, NULL, THREADS), 0);
  queued = put = got = written = twin = arrived = 0;
  for (int i = 0; i < THREADS; ++i) {
    workers[i] = (struct worker){.number = i, .state = seed * THREADS + (uint64_t)i};
    EXPECT_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  long counts[OBJECTS] = {0}, writes = 0;
  for (int i = 0; i < THREADS; ++i) {
    EXPECT_EQ(pthread_join(workers[i].thread, NULL), 0);
    for (int m = 0; m < OBJECTS; ++m) counts[m] += workers[i].counts[m];
    writes += workers[i].writes;
  }
  for (int m = 0; m < OBJECTS; ++m) {
    EXPECT_EQ(counted[m], counts[m]);
    EXPECT_EQ(pthread_mutex_destroy(&mutexes[m]), 0);
  }
  int left = -1;
  EXPECT_EQ(sem_getvalue(&tokens, &left), 0);
  EXPECT_EQ(left, TOKENS);
  EXPECT_EQ(put - got, queued);
  EXPECT_EQ(written, writes);
  EXPECT_EQ(twin, writes);
  EXPECT_EQ(pthread_cond_destroy(&queue_filled), 0);
  EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
  EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
  EXPECT_EQ(sem_destroy(&tokens), 0);
}

CASE(the_books_balance) {
  const char* wanted = getenv("POSIX_SEED");
  uint64_t seed = wanted ? strtoull(wanted, NULL, 10) : (uint64_t)now_on(CLOCK_REALTIME).tv_nsec;
  for (int round = 0; round < ROUNDS; ++round) run_round(seed + (uint64_t)round);
}
