// Handlers that interrupt waits for synchronisation objects and leave them: by siglongjmp, by
// ending the thread; or that jump within themselves, or in a child. POSIX promises nothing for most
// of these; programs do them, and libc bears it. What is waited for works afterwards.
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "blocked.h"
#include "child.h"
#include "expect.h"
#include "handled.h"

static sem_t sem;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t written;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void wait_for_semaphore(void) { (void)sem_wait(&sem); }
static void wait_for_mutex(void) { pthread_mutex_lock(&held); }
static void wait_until_unlocked(void) {
  struct timespec at = {.tv_sec = time(NULL) + 1000};
  pthread_mutex_timedlock(&held, &at);
}
static void wait_to_read(void) { pthread_rwlock_rdlock(&written); }
static void wait_to_write(void) { pthread_rwlock_wrlock(&written); }
static void unlock(void* mutex) { EXPECT_EQ(pthread_mutex_unlock(mutex), 0); }
static void wait_for_condition(void) {
  pthread_mutex_lock(&own);
  pthread_cleanup_push(unlock, &own);
  for (;;) pthread_cond_wait(&cond, &own);
  pthread_cleanup_pop(1);
}
static void wait_in_kernel(void) { pause(); }
static void wait_for_time(void) { nanosleep(&(struct timespec){.tv_sec = 1000}, NULL); }

static void (*const waits[])(void) = {wait_for_semaphore, wait_for_mutex, wait_until_unlocked,
                                      wait_to_read,       wait_to_write,  wait_for_condition,
                                      wait_in_kernel,     wait_for_time};
enum { WAITS = sizeof waits / sizeof waits[0], JUMPS = 100 };

static struct waiter {
  pthread_t thread;
  int wait;
  int jumps;     // made by now
  int may_jump;  // whether the thread has somewhere to jump to
  pid_t tid;     // when it is about to wait
} waiters[WAITS];
static __thread struct waiter* self;
static __thread sigjmp_buf out;

static void hold_everything(void) {
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  EXPECT_EQ(pthread_mutex_lock(&held), 0);
  // Anew: libc's goes on counting readers that have left.
  EXPECT_EQ(pthread_rwlock_init(&written, NULL), 0);
  EXPECT_EQ(pthread_rwlock_wrlock(&written), 0);
}

static void* take_everything(void* unused) {
  EXPECT_EQ(sem_wait(&sem), 0);
  EXPECT_EQ(pthread_mutex_lock(&held), 0);
  EXPECT_EQ(pthread_mutex_unlock(&held), 0);
  return unused;
}

// Lets go of all that was held, and has other threads take it.
static void release_everything(void) {
  enum { TAKERS = 3 };
  pthread_t takers[TAKERS];
  for (int i = 0; i < TAKERS; ++i)
    EXPECT_EQ(pthread_create(&takers[i], NULL, take_everything, NULL), 0);
  for (int i = 0; i < TAKERS; ++i) EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(pthread_mutex_unlock(&held), 0);
  EXPECT_EQ(pthread_rwlock_unlock(&written), 0);
  for (int i = 0; i < TAKERS; ++i) EXPECT_EQ(pthread_join(takers[i], NULL), 0);
}

static void jump(int number) {
  (void)number;
  if (__atomic_exchange_n(&self->may_jump, 0, __ATOMIC_RELAXED)) siglongjmp(out, 1);
}

static void* wait_and_jump(void* row) {
  self = row;
  while (__atomic_load_n(&self->jumps, __ATOMIC_RELAXED) < JUMPS) {
    if (sigsetjmp(out, 1) == 0) {
      __atomic_store_n(&self->may_jump, 1, __ATOMIC_RELAXED);
      waits[self->wait]();
      while (__atomic_load_n(&self->may_jump, __ATOMIC_RELAXED)) pause();
    }
    // A jump out of the condition's wait may have come with the mutex or without.
    if (waits[self->wait] == wait_for_condition && own.__data.__owner == gettid())
      EXPECT_EQ(pthread_mutex_unlock(&own), 0);
    __atomic_fetch_add(&self->jumps, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

CASE(a_handler_may_jump_out_of_any_wait) {
  handle(jump, SA_RESTART);
  hold_everything();
  for (int i = 0; i < WAITS; ++i) {
    waiters[i] = (struct waiter){.wait = i};
    EXPECT_EQ(pthread_create(&waiters[i].thread, NULL, wait_and_jump, &waiters[i]), 0);
  }
  const struct timespec pause = {0, 30000};
  for (int left = WAITS, round = 0; left > 0; ++round) {
    left = 0;
    for (int i = 0; i < WAITS; ++i) {
      if (__atomic_load_n(&waiters[i].jumps, __ATOMIC_RELAXED) >= JUMPS) continue;
      ++left;
      if (__atomic_load_n(&waiters[i].may_jump, __ATOMIC_RELAXED))
        EXPECT_EQ(pthread_kill(waiters[i].thread, SIGUSR1), 0);
    }
    // Some are on their way into the wait then, some asleep in it.
    if (round % 2) {
      sched_yield();
    } else {
      nanosleep(&pause, NULL);
    }
  }
  for (int i = 0; i < WAITS; ++i) EXPECT_EQ(pthread_join(waiters[i].thread, NULL), 0);
  release_everything();
}

static void end_thread(int number) { pthread_exit((void*)(long)number); }

static void* wait_and_end(void* row) {
  self = row;
  about_to_block(&self->tid);
  waits[self->wait]();
  return NULL;
}

CASE(a_handler_may_end_its_thread_in_any_wait) {
  enum { ROUNDS = 10 };
  handle(end_thread, 0);
  hold_everything();
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < WAITS; ++i) {
      waiters[i] = (struct waiter){.wait = i};
      EXPECT_EQ(pthread_create(&waiters[i].thread, NULL, wait_and_end, &waiters[i]), 0);
    }
    for (int i = 0; i < WAITS; ++i) {
      wait_until_blocked(&waiters[i].tid);
      EXPECT_EQ(pthread_kill(waiters[i].thread, SIGUSR1), 0);
    }
    for (int i = 0; i < WAITS; ++i) {
      void* result;
      EXPECT_EQ(pthread_join(waiters[i].thread, &result), 0);
      EXPECT(result == (void*)(long)SIGUSR1);
    }
  }
  release_everything();
}

static void set(void* flag) { __atomic_store_n((int*)flag, 1, __ATOMIC_SEQ_CST); }
static int cleaned;

static void clean_and_end_thread(int number) {
  pthread_cleanup_push(set, &cleaned);
  pthread_exit((void*)(long)number);
  pthread_cleanup_pop(0);
}

CASE(cleanups_of_the_handler_and_of_the_wait_are_done) {
  handle(clean_and_end_thread, 0);
  EXPECT_EQ(pthread_mutex_init(&own, NULL), 0);  // others have left waits with it
  for (int i = 0; i < WAITS; ++i) {
    if (waits[i] != wait_in_kernel && waits[i] != wait_for_time && waits[i] != wait_for_condition)
      continue;
    cleaned = 0;
    waiters[0] = (struct waiter){.wait = i};
    EXPECT_EQ(pthread_create(&waiters[0].thread, NULL, wait_and_end, &waiters[0]), 0);
    wait_until_blocked(&waiters[0].tid);
    EXPECT_EQ(pthread_kill(waiters[0].thread, SIGUSR1), 0);
    EXPECT_EQ(pthread_join(waiters[0].thread, NULL), 0);
    EXPECT_EQ(cleaned, 1);
  }
  EXPECT_EQ(pthread_mutex_destroy(&own), 0);  // nobody uses it
  EXPECT_EQ(pthread_mutex_init(&own, NULL), 0);
}

static void* wait_to_be_let_go(void* unused) {
  EXPECT_EQ(sem_wait(&sem), 0);
  return unused;
}

static void* join_and_end(void* thread) {
  about_to_block(&waiters[0].tid);
  pthread_join(*(pthread_t*)thread, NULL);
  return NULL;
}

CASE(who_ends_in_a_join_leaves_the_other_to_be_joined) {
  handle(end_thread, 0);
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  pthread_t joined, joiner;
  EXPECT_EQ(pthread_create(&joined, NULL, wait_to_be_let_go, NULL), 0);
  waiters[0] = (struct waiter){0};
  EXPECT_EQ(pthread_create(&joiner, NULL, join_and_end, &joined), 0);
  wait_until_blocked(&waiters[0].tid);
  EXPECT_EQ(pthread_kill(joiner, SIGUSR1), 0);
  void* result;
  EXPECT_EQ(pthread_join(joiner, &result), 0);
  EXPECT(result == (void*)(long)SIGUSR1);
  EXPECT_EQ(sem_post(&sem), 0);
  EXPECT_EQ(pthread_join(joined, NULL), 0);
}

// A thread that posts until it is to stop; handlers take it out of that.
static int stop;
static long taken;

static void* post_and_jump(void* row) {
  self = row;
  while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
    if (sigsetjmp(out, 1) != 0) continue;
    __atomic_store_n(&self->may_jump, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
      EXPECT_EQ(sem_post(&sem), 0);
      sched_yield();
    }
    __atomic_store_n(&self->may_jump, 0, __ATOMIC_RELAXED);
  }
  return NULL;
}

static void* take(void* unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
    while (sem_wait(&sem) != 0) EXPECT_EQ(errno, EINTR);
    __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
  }
  return unused;
}

CASE(a_handler_may_jump_out_of_a_post) {
  enum { TAKERS = 2, SIGNALS = 400 };
  pthread_t takers[TAKERS];
  handle(jump, SA_RESTART);
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  waiters[0] = (struct waiter){.wait = 0};
  for (int i = 0; i < TAKERS; ++i) EXPECT_EQ(pthread_create(&takers[i], NULL, take, NULL), 0);
  EXPECT_EQ(pthread_create(&waiters[0].thread, NULL, post_and_jump, &waiters[0]), 0);
  while (!__atomic_load_n(&waiters[0].may_jump, __ATOMIC_RELAXED)) sched_yield();
  const struct timespec pause = {0, 100000};
  for (int i = 0; i < SIGNALS; ++i) {
    EXPECT_EQ(pthread_kill(waiters[0].thread, SIGUSR1), 0);
    nanosleep(&pause, NULL);
  }
  // After an interrupted post the next one is enough for both: one more each, and they go on.
  long before = __atomic_load_n(&taken, __ATOMIC_RELAXED);
  while (__atomic_load_n(&taken, __ATOMIC_RELAXED) < before + 100) nanosleep(&pause, NULL);
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  EXPECT_EQ(pthread_join(waiters[0].thread, NULL), 0);
  for (int i = 0; i < TAKERS; ++i) EXPECT_EQ(sem_post(&sem), 0);
  for (int i = 0; i < TAKERS; ++i) EXPECT_EQ(pthread_join(takers[i], NULL), 0);
}

static pthread_barrier_t barrier;
static int woken;

static void jump_within(int number) {
  static __thread sigjmp_buf within;
  if (sigsetjmp(within, 1) == 0) siglongjmp(within, 1);
  count(number);
}

static void* await_semaphore(void* row) {
  self = row;
  about_to_block(&self->tid);
  while (sem_wait(&sem) != 0) EXPECT_EQ(errno, EINTR);
  __atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
  return NULL;
}
static void* await_condition(void* row) {
  self = row;
  EXPECT_EQ(pthread_mutex_lock(&own), 0);
  about_to_block(&self->tid);
  while (woken == 0) EXPECT_EQ(pthread_cond_wait(&cond, &own), 0);
  EXPECT_EQ(pthread_mutex_unlock(&own), 0);
  return NULL;
}
static void* await_barrier(void* row) {
  self = row;
  about_to_block(&self->tid);
  int result = pthread_barrier_wait(&barrier);
  EXPECT(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
  EXPECT_EQ(__atomic_load_n(&woken, __ATOMIC_SEQ_CST), 1);
  return NULL;
}

static void begin_interrupted(void* (*await)(void*)) {
  woken = 0;
  waiters[0] = (struct waiter){.wait = 0};
  EXPECT_EQ(pthread_create(&waiters[0].thread, NULL, await, &waiters[0]), 0);
  wait_until_blocked(&waiters[0].tid);
  for (int i = 0; i < 3; ++i) interrupt(waiters[0].thread);
}

CASE(a_wait_goes_on_after_a_jump_within_a_handler) {
  handle(jump_within, SA_RESTART);
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  EXPECT_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
  for (int round = 0; round < 30; ++round) {
    begin_interrupted(await_semaphore);
    EXPECT_EQ(__atomic_load_n(&woken, __ATOMIC_SEQ_CST), 0);
    EXPECT_EQ(sem_post(&sem), 0);
    EXPECT_EQ(pthread_join(waiters[0].thread, NULL), 0);

    begin_interrupted(await_condition);
    EXPECT_EQ(pthread_mutex_lock(&own), 0);
    woken = 1;
    EXPECT_EQ(pthread_cond_signal(&cond), 0);
    EXPECT_EQ(pthread_mutex_unlock(&own), 0);
    EXPECT_EQ(pthread_join(waiters[0].thread, NULL), 0);

    begin_interrupted(await_barrier);
    __atomic_store_n(&woken, 1, __ATOMIC_SEQ_CST);
    pthread_barrier_wait(&barrier);
    EXPECT_EQ(pthread_join(waiters[0].thread, NULL), 0);
  }
}

static pid_t forked;

static void fork_and_jump(int number) {
  forked = fork();
  EXPECT(forked >= 0);
  if (forked == 0) siglongjmp(out, 1);
  count(number);
}

static void* await_semaphore_or_jump(void* row) {
  if (sigsetjmp(out, 1) == 0) return await_semaphore(row);
  EXPECT_EQ(sem_post(&sem), 0);  // the child's own
  EXPECT_EQ(sem_wait(&sem), 0);
  EXPECT_EQ(pthread_mutex_lock(&own), 0);
  _exit(7);
}

CASE(the_child_of_a_handler_may_jump_out_of_the_wait) {
  handle(fork_and_jump, SA_RESTART);
  EXPECT_EQ(sem_init(&sem, 0, 0), 0);
  for (int round = 0; round < 20; ++round) {
    waiters[0] = (struct waiter){.wait = 0};
    EXPECT_EQ(pthread_create(&waiters[0].thread, NULL, await_semaphore_or_jump, &waiters[0]), 0);
    wait_until_blocked(&waiters[0].tid);
    interrupt(waiters[0].thread);
    EXPECT_EQ(outcome_of(forked), 7);
    EXPECT_EQ(sem_post(&sem), 0);
    EXPECT_EQ(pthread_join(waiters[0].thread, NULL), 0);
  }
}
