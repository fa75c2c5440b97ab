// Threads are stopped by a signal whose handler says so by a semaphore and waits for another, as
// SBCL's collector does, wherever they are: in mutexes and conditions, or in loops that wait. The
// collector looks for pointers between the handler's frame and the end of the thread's stack.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "expect.h"

enum { WORKERS = 4, STOPS = 200, END = SIGUSR2 };

static sem_t told;
static struct worker {
  pthread_t thread;
  sem_t may_go_on;
  const char* stack;  // its end
  size_t stack_size;
  long turns;
} workers[WORKERS];
static __thread struct worker* self;
static _Atomic long turn;
static atomic_int finish;
static int off_stack;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void stop(int signal) {
  (void)signal;
  const char* frame = __builtin_frame_address(0);
  if ((uintptr_t)(self->stack - frame) > self->stack_size)
    __atomic_fetch_add(&off_stack, 1, __ATOMIC_RELAXED);
  sem_post(&told);
  while (sem_wait(&self->may_go_on) != 0) {
  }
}

static void begin(struct worker* worker) {
  self = worker;
  pthread_attr_t attributes;
  void* lowest;
  EXPECT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  EXPECT_EQ(pthread_attr_getstack(&attributes, &lowest, &self->stack_size), 0);
  self->stack = (const char*)lowest + self->stack_size;
  EXPECT_EQ(pthread_attr_destroy(&attributes), 0);
  sem_post(&told);
}

static long next(const struct worker* worker) { return (worker - workers + 1) % WORKERS; }

static void* pass_turns(void* worker) {
  begin(worker);
  while (!atomic_load(&finish)) {
    pthread_mutex_lock(&mutex);
    while (turn != self - workers && !atomic_load(&finish)) pthread_cond_wait(&condition, &mutex);
    turn = next(self);
    ++self->turns;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static void* spin_for_turns(void* worker) {
  begin(worker);
  while (!atomic_load(&finish)) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != self - workers &&
           !atomic_load(&finish)) {
    }
    ++self->turns;
    atomic_store(&turn, next(self));
  }
  return NULL;
}

static void* receive_the_end(void* signals) {
  int received;
  EXPECT_EQ(sigwait(signals, &received), 0);
  EXPECT_EQ(received, END);
  pthread_mutex_lock(&mutex);
  atomic_store(&finish, 1);
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void stop_and_start(void* (*work)(void*), int stops, unsigned apart) {
  atomic_store(&finish, 0);
  off_stack = 0;
  EXPECT_EQ(sem_init(&told, 0, 0), 0);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, END);
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &end, NULL), 0);
  struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
  sigfillset(&action.sa_mask);
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  pthread_t receiver;
  EXPECT_EQ(pthread_create(&receiver, NULL, receive_the_end, &end), 0);
  for (int t = 0; t < WORKERS; ++t) {
    EXPECT_EQ(sem_init(&workers[t].may_go_on, 0, 0), 0);
    EXPECT_EQ(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
  }
  for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(sem_wait(&told), 0);
  for (int i = 0; i < stops; ++i) {
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(pthread_kill(workers[t].thread, SIGUSR1), 0);
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(sem_wait(&told), 0);
    long before[WORKERS];
    for (int t = 0; t < WORKERS; ++t) before[t] = workers[t].turns;
    usleep((unsigned)i % 10);
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(workers[t].turns, before[t]);
    for (int t = 0; t < WORKERS; ++t) EXPECT_EQ(sem_post(&workers[t].may_go_on), 0);
    usleep(apart + (unsigned)i % 50);
  }
  EXPECT_EQ(pthread_kill(receiver, END), 0);
  EXPECT_EQ(pthread_join(receiver, NULL), 0);
  for (int t = 0; t < WORKERS; ++t) {
    EXPECT_EQ(pthread_join(workers[t].thread, NULL), 0);
    EXPECT_EQ(sem_destroy(&workers[t].may_go_on), 0);
  }
  EXPECT_EQ(sem_destroy(&told), 0);
  EXPECT_EQ(off_stack, 0);
}

CASE(threads_are_stopped_in_conditions) { stop_and_start(pass_turns, STOPS, 20); }
CASE(threads_are_stopped_in_loops) { stop_and_start(spin_for_turns, STOPS / 4, 5000); }
