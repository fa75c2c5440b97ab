// Random births and deaths of threads: trees of them that join, detach, cancel and fork, with
// attributes of every kind and thread-specific data that must be fresh in each.
//
// Each round has a seed, which is printed. POSIX_SEED in the environment replaces the first.
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>

#include "child.h"
#include "deadline.h"
#include "expect.h"

enum { ROUNDS = 6, TREES = 12 };

static pthread_key_t key;
static __thread uint64_t of_thread = 77;
static int born, died, detached_alive;
static sem_t never;

struct node {
  uint64_t state;
  int depth;
};

static unsigned next(struct node* n, unsigned below) {
  n->state = n->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(n->state >> 33) % below;
}

static void note_death(void* unused) {
  (void)unused;
  __atomic_add_fetch(&died, 1, __ATOMIC_SEQ_CST);
}

static void expect_fresh(uint64_t mark) {
  __atomic_add_fetch(&born, 1, __ATOMIC_SEQ_CST);
  EXPECT_EQ(of_thread, 77);
  EXPECT(pthread_getspecific(key) == NULL);
  of_thread = mark;
  EXPECT_EQ(pthread_setspecific(key, &born), 0);  // its destructor counts the death
}

static void* end_detached(void* unused) {
  expect_fresh(1);
  __atomic_sub_fetch(&detached_alive, 1, __ATOMIC_SEQ_CST);
  return unused;
}

static void* wait_for_cancel(void* unused) {
  expect_fresh(2);
  for (;;) sem_wait(&never);
  return unused;
}

static void* spin_for_cancel(void* unused) {
  expect_fresh(3);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;) {
  }
  return unused;
}

static void cancel_one(struct node* n) {
  pthread_t thread;
  void* result = NULL;
  void* (*body)(void*) = next(n, 4) ? wait_for_cancel : spin_for_cancel;
  EXPECT_EQ(pthread_create(&thread, NULL, body, NULL), 0);
  while (body == spin_for_cancel && next(n, 3)) sched_yield();
  EXPECT_EQ(pthread_cancel(thread), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
}

static void detach_one(struct node* n) {
  pthread_t thread;
  pthread_attr_t attr;
  __atomic_add_fetch(&detached_alive, 1, __ATOMIC_SEQ_CST);
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  int at_birth = next(n, 2) != 0;
  if (at_birth) EXPECT_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), 0);
  EXPECT_EQ(pthread_create(&thread, &attr, end_detached, NULL), 0);
  if (!at_birth) EXPECT_EQ(pthread_detach(thread), 0);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
}

static void grow(struct node* n);

static void* be_node(void* argument) {
  struct node* n = argument;
  uint64_t mark = n->state;
  expect_fresh(mark);
  grow(n);
  EXPECT_EQ(of_thread, mark);
  EXPECT(pthread_getspecific(key) == &born);
  if (next(n, 3) == 0) pthread_exit(n);
  return n;
}

static void join_children(struct node* n) {
  enum { MOST = 4 };
  struct node children[MOST];
  pthread_t threads[MOST];
  int count = (int)next(n, MOST) + 1;
  for (int i = 0; i < count; ++i) {
    pthread_attr_t attr;
    children[i] = (struct node){n->state + (uint64_t)i * 977, n->depth - 1};
    EXPECT_EQ(pthread_attr_init(&attr), 0);
    if (next(n, 2)) EXPECT_EQ(pthread_attr_setstacksize(&attr, (256 << next(n, 3)) * 1024), 0);
    EXPECT_EQ(pthread_create(&threads[i], &attr, be_node, &children[i]), 0);
    EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  }
  for (int i = count - 1; i >= 0; --i) {
    void* result = NULL;
    struct timespec at = far_off(CLOCK_MONOTONIC);
    int error;
    switch (next(n, 3)) {
      case 0:
        error = pthread_clockjoin_np(threads[i], &result, CLOCK_MONOTONIC, &at);
        break;
      case 1:
        while ((error = pthread_tryjoin_np(threads[i], &result)) == EBUSY) sched_yield();
        break;
      default:
        error = pthread_join(threads[i], &result);
    }
    EXPECT_EQ(error, 0);
    EXPECT(result == &children[i]);
  }
}

static void* nothing(void* unused) { return unused; }

static void live_as_child(void) {
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, nothing, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
  }
}

static void grow(struct node* n) {
  for (int step = 0; step < 4; ++step) {
    switch (next(n, 8)) {
      case 0:
        cancel_one(n);
        break;
      case 1:
        detach_one(n);
        break;
      case 2:
        sched_yield();
        break;
      case 3:
        nanosleep(&(struct timespec){0, 20000}, NULL);
        break;
      case 4:
        if (next(n, 4) == 0) EXPECT_EQ(outcome_in_child(live_as_child), 0);
        break;
      default:
        if (n->depth > 0) join_children(n);
    }
  }
}

CASE(all_that_are_born_die) {
  const char* wanted = getenv("POSIX_SEED");
  uint64_t seed = wanted ? strtoull(wanted, NULL, 10) : (uint64_t)now_on(CLOCK_REALTIME).tv_nsec;
  EXPECT_EQ(pthread_key_create(&key, note_death), 0);
  EXPECT_EQ(sem_init(&never, 0, 0), 0);
  for (int round = 0; round < ROUNDS; ++round, ++seed) {
    dprintf(1, "  seed %llu\n", (unsigned long long)seed);
    born = died = 0;
    for (int tree = 0; tree < TREES; ++tree) {
      struct node root = {seed * TREES + (uint64_t)tree, 2};
      grow(&root);
    }
    while (__atomic_load_n(&detached_alive, __ATOMIC_SEQ_CST) > 0) sched_yield();
    // Detached threads run their destructors after they have said goodbye.
    while (__atomic_load_n(&died, __ATOMIC_SEQ_CST) < born) sched_yield();
    EXPECT_EQ(died, born);
  }
  EXPECT_EQ(pthread_key_delete(key), 0);
}
