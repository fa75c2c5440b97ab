// Process-shared objects of every kind, between forked processes and between two mappings of the
// same memory at different addresses in one process.
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

#include "child.h"
#include "deadline.h"
#include "expect.h"
#include "mutex_kinds.h"

enum { PROCESSES = 4, ROUNDS = 300 };

struct shared {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  pthread_rwlock_t rwlock;
  pthread_barrier_t barrier;
  pthread_spinlock_t spin;
  sem_t sem, answer;
  int inside, turn, serials;
  long counter, twin;
};

static struct shared* s;      // what the bodies below use
static struct shared* alias;  // the same memory elsewhere

static void init(const struct mutex_kind* kind) {
  if (!s) {
    int file = memfd_create("posix", MFD_CLOEXEC);
    EXPECT(file >= 0);
    EXPECT_EQ(ftruncate(file, sizeof *s), 0);
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    alias = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT(s != MAP_FAILED && alias != MAP_FAILED && s != alias);
    close(file);
  }
  memset(s, 0, sizeof *s);
  pthread_condattr_t cond;
  pthread_rwlockattr_t rwlock;
  pthread_barrierattr_t barrier;
  EXPECT_EQ(pthread_condattr_init(&cond), 0);
  EXPECT_EQ(pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED), 0);
  EXPECT_EQ(pthread_rwlockattr_init(&rwlock), 0);
  EXPECT_EQ(pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED), 0);
  EXPECT_EQ(pthread_barrierattr_init(&barrier), 0);
  EXPECT_EQ(pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED), 0);
  init_mutex(&s->mutex, kind, PTHREAD_PROCESS_SHARED);
  EXPECT_EQ(pthread_cond_init(&s->cond, &cond), 0);
  EXPECT_EQ(pthread_rwlock_init(&s->rwlock, &rwlock), 0);
  EXPECT_EQ(pthread_barrier_init(&s->barrier, &barrier, PROCESSES), 0);
  EXPECT_EQ(pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED), 0);
  EXPECT_EQ(sem_init(&s->sem, 1, 0), 0);
  EXPECT_EQ(sem_init(&s->answer, 1, 0), 0);
}

static void in_processes(void (*body)(void)) {
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; ++i) children[i] = fork_child(body);
  for (int i = 0; i < PROCESSES; ++i) EXPECT_EQ(outcome_of(children[i]), 0);
}

// Two threads of this process, one of which sees the objects at the other address. The bodies take
// their objects from `s`, so the second thread's are a thread-local matter: see `here`.
static __thread struct shared* here;
static struct shared* mine(void) { return here ? here : s; }

static void* run_with_alias(void* body) {
  here = alias;
  (*(void (**)(void))body)();
  return NULL;
}

static void* run_directly(void* body) {
  (*(void (**)(void))body)();
  return NULL;
}

static void at_two_addresses(void (*body)(void), int of_each) {
  pthread_t threads[PROCESSES];
  for (int i = 0; i < 2 * of_each; ++i) {
    EXPECT_EQ(pthread_create(&threads[i], NULL, i % 2 ? run_with_alias : run_directly, &body), 0);
  }
  for (int i = 0; i < 2 * of_each; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

static void count_under_mutex(void) {
  struct shared* m = mine();
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(pthread_mutex_lock(&m->mutex), 0);
    EXPECT_EQ(m->inside++, 0);
    ++m->counter;
    if (i % 16 == 0) sched_yield();
    EXPECT_EQ(--m->inside, 0);
    EXPECT_EQ(pthread_mutex_unlock(&m->mutex), 0);
  }
}

CASE(mutexes_between_processes) {
  FOR_EACH_MUTEX_KIND(kind) {
    init(kind);
    in_processes(count_under_mutex);
    EXPECT_EQ(s->counter, PROCESSES * ROUNDS);
    EXPECT_EQ(pthread_mutex_destroy(&s->mutex), 0);
  }
}

CASE(mutexes_at_two_addresses) {
  FOR_EACH_MUTEX_KIND(kind) {
    if (kind->robust) continue;  // they keep their address in a list
    init(kind);
    at_two_addresses(count_under_mutex, 2);
    EXPECT_EQ(s->counter, PROCESSES * ROUNDS);
  }
}

static void take_turns(void) {
  struct shared* m = mine();
  EXPECT_EQ(pthread_mutex_lock(&m->mutex), 0);
  int me = m->inside++;
  for (int i = 0; i < ROUNDS; ++i) {
    while (m->turn % PROCESSES != me) EXPECT_EQ(pthread_cond_wait(&m->cond, &m->mutex), 0);
    ++m->turn;
    EXPECT_EQ(pthread_cond_broadcast(&m->cond), 0);
  }
  EXPECT_EQ(pthread_mutex_unlock(&m->mutex), 0);
}

CASE(condition_variables_between_processes) {
  init(&mutex_kinds[0]);
  in_processes(take_turns);
  EXPECT_EQ(s->turn, PROCESSES * ROUNDS);
}

CASE(condition_variables_at_two_addresses) {
  init(&mutex_kinds[0]);
  at_two_addresses(take_turns, 2);
  EXPECT_EQ(s->turn, PROCESSES * ROUNDS);
}

CASE(shared_condition_variables_time_out) {
  init(&mutex_kinds[0]);
  struct timespec at = soon(CLOCK_REALTIME);
  EXPECT_EQ(pthread_mutex_lock(&s->mutex), 0);
  EXPECT_EQ(pthread_cond_timedwait(&s->cond, &s->mutex, &at), ETIMEDOUT);
  EXPECT(has_passed(CLOCK_REALTIME, at));
  at = soon(CLOCK_MONOTONIC);
  EXPECT_EQ(pthread_cond_clockwait(&s->cond, &s->mutex, CLOCK_MONOTONIC, &at), ETIMEDOUT);
  EXPECT(has_passed(CLOCK_MONOTONIC, at));
  EXPECT_EQ(pthread_mutex_unlock(&s->mutex), 0);
}

static void read_and_write(void) {
  struct shared* m = mine();
  for (int i = 0; i < ROUNDS; ++i) {
    if (i % 4 == 0) {
      EXPECT_EQ(pthread_rwlock_wrlock(&m->rwlock), 0);
      ++m->counter;
      if (i % 16 == 0) sched_yield();
      ++m->twin;
    } else {
      EXPECT_EQ(pthread_rwlock_rdlock(&m->rwlock), 0);
      EXPECT_EQ(m->counter, m->twin);
    }
    EXPECT_EQ(pthread_rwlock_unlock(&m->rwlock), 0);
  }
}

CASE(rwlocks_between_processes_and_addresses) {
  init(&mutex_kinds[0]);
  in_processes(read_and_write);
  EXPECT_EQ(s->counter, PROCESSES * ROUNDS / 4);
  at_two_addresses(read_and_write, 2);
  EXPECT_EQ(s->counter, 2 * PROCESSES * ROUNDS / 4);
}

static void meet(void) {
  struct shared* m = mine();
  for (int i = 1; i <= ROUNDS; ++i) {
    __atomic_add_fetch(&m->counter, 1, __ATOMIC_SEQ_CST);
    int result = pthread_barrier_wait(&m->barrier);
    EXPECT(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    if (result) __atomic_add_fetch(&m->serials, 1, __ATOMIC_SEQ_CST);
    EXPECT(__atomic_load_n(&m->counter, __ATOMIC_SEQ_CST) >= (long)i * PROCESSES);
  }
}

CASE(barriers_between_processes_and_addresses) {
  init(&mutex_kinds[0]);
  in_processes(meet);
  EXPECT_EQ(s->serials, ROUNDS);
  s->counter = s->serials = 0;
  at_two_addresses(meet, 2);
  EXPECT_EQ(s->serials, ROUNDS);
}

static void serve(void) {
  struct shared* m = mine();
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(sem_wait(&m->sem), 0);
    __atomic_add_fetch(&m->counter, 1, __ATOMIC_SEQ_CST);
    EXPECT_EQ(sem_post(&m->answer), 0);
  }
}

static void ask(void) {
  for (int i = 0; i < PROCESSES * ROUNDS; ++i) {
    EXPECT_EQ(sem_post(&s->sem), 0);
    EXPECT_EQ(sem_wait(&s->answer), 0);
  }
}

CASE(semaphores_between_processes) {
  init(&mutex_kinds[0]);
  pid_t asker = fork_child(ask);
  in_processes(serve);
  EXPECT_EQ(outcome_of(asker), 0);
  EXPECT_EQ(s->counter, PROCESSES * ROUNDS);
}

CASE(semaphores_at_two_addresses) {
  init(&mutex_kinds[0]);
  pid_t asker = fork_child(ask);
  at_two_addresses(serve, 2);
  EXPECT_EQ(outcome_of(asker), 0);
  EXPECT_EQ(s->counter, PROCESSES * ROUNDS);
}

static void count_under_spin_lock(void) {
  struct shared* m = mine();
  for (int i = 0; i < ROUNDS; ++i) {
    EXPECT_EQ(pthread_spin_lock(&m->spin), 0);
    ++m->counter;
    EXPECT_EQ(pthread_spin_unlock(&m->spin), 0);
  }
}

CASE(spin_locks_between_processes_and_addresses) {
  init(&mutex_kinds[0]);
  in_processes(count_under_spin_lock);
  at_two_addresses(count_under_spin_lock, 2);
  EXPECT_EQ(s->counter, 2 * PROCESSES * ROUNDS);
}
