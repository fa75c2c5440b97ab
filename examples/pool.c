// A pool of workers with one queue: idle workers block, whoever submits wakes one of them.
//
// It starts more workers than there are cores. That costs nothing: a worker without work owns no
// core, and one with work keeps its core until the queue is empty. The same holds if the tasks
// themselves start threads, or if a second program runs in the instance.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roost/roost.h"

enum { WORKERS = 16, TASKS = 2000 };

struct task {
  void (*run)(void*);
  void* argument;
  struct task* next;
};

// A lock of the runtime's own: it spins, and after a while lets the thread that holds it run.
static atomic_flag pool_lock = ATOMIC_FLAG_INIT;

static void lock(void) {
  for (unsigned spins = 0; atomic_flag_test_and_set_explicit(&pool_lock, memory_order_acquire);
       ++spins) {
    if (spins % 64 == 63 && roost_others_wait()) roost_yield();
  }
}
static void unlock(void) { atomic_flag_clear_explicit(&pool_lock, memory_order_release); }

// Under the lock.
static struct task *first, **last = &first;
static roost_thread idle[WORKERS];
static int n_idle;
static int closing;

static void submit(struct task* task) {
  task->next = NULL;
  lock();
  *last = task;
  last = &task->next;
  roost_thread worker = n_idle ? idle[--n_idle] : ROOST_NO_THREAD;
  unlock();
  if (worker != ROOST_NO_THREAD) roost_unblock(worker);
}

// The next task; null once the pool closes.
static struct task* take(void) {
  for (;;) {
    lock();
    struct task* task = first;
    if (task) {
      first = task->next;
      if (!first) last = &first;
    } else if (!closing) {
      idle[n_idle++] = roost_self();
    }
    int end = closing;
    unlock();
    if (task || end) return task;
    // Whoever takes us from the idle list wakes us, perhaps before we get here: the permit stays.
    roost_block();
  }
}

static void* work(void* unused) {
  (void)unused;
  for (struct task* task; (task = take());) task->run(task->argument);
  return NULL;
}

static void close_pool(void) {
  lock();
  closing = 1;
  unlock();
  // Each idle worker left the list with a permit to come, or is in it still.
  while (n_idle) roost_unblock(idle[--n_idle]);
}

// What the tasks do here, and how the submitter learns that all are done.
static atomic_long sum, tasks_left = TASKS;
static roost_thread submitter;

static void add_divisors(void* argument) {
  long number = (long)argument, divisors = 0;
  for (long d = 1; d <= number; ++d) divisors += number % d == 0;
  atomic_fetch_add(&sum, divisors);
  if (atomic_fetch_sub(&tasks_left, 1) == 1) roost_unblock(submitter);
}

int main(void) {
  struct roost_config config = {.instance = getenv("API_INSTANCE")};
  int error = roost_start(&config);
  if (error) {
    fprintf(stderr, "roost_start: %s\n", strerror(-error));
    return 1;
  }
  submitter = roost_self();
  pthread_t workers[WORKERS];
  for (int i = 0; i < WORKERS; ++i) {
    if (pthread_create(&workers[i], NULL, work, NULL) != 0) return 1;
  }
  static struct task tasks[TASKS];
  for (long i = 0; i < TASKS; ++i) {
    tasks[i].run = add_divisors;
    tasks[i].argument = (void*)(i + 1);
    submit(&tasks[i]);
  }
  while (atomic_load(&tasks_left)) roost_block();
  close_pool();
  for (int i = 0; i < WORKERS; ++i) pthread_join(workers[i], NULL);

  long expected = 0;  // of the numbers up to TASKS, TASKS / d have the divisor d
  for (long d = 1; d <= TASKS; ++d) expected += TASKS / d;
  printf("%d tasks, %d workers, %u cores: %ld divisors\n", TASKS, WORKERS, roost_core_count(),
         (long)sum);
  return sum == expected ? 0 : 1;
}
