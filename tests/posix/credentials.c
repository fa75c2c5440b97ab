// setuid() and its like: libc has every thread of the process make the same call and waits until
// all have, whether they run, wait or are new, and whoever else lives beside them.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

static void* nothing(void* unused) { return unused; }

static void set_ids(void) { EXPECT_EQ(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1), 0); }

CASE(threads_that_have_ended_do_not_keep_it_waiting) {
  for (int i = 0; i < 20; ++i) {
    pthread_t threads[4];
    for (int t = 0; t < 4; ++t) threads[t] = start(nothing, NULL);
    for (int t = 0; t < 4; ++t) EXPECT_EQ(pthread_join(threads[t], NULL), 0);
    set_ids();
  }
}

static sem_t gate;

static void* await_gate(void* unused) {
  while (sem_wait(&gate) != 0) {
  }
  return unused;
}

CASE(waiting_threads_do_it_and_wait_on) {
  pthread_t threads[4];
  EXPECT_EQ(sem_init(&gate, 0, 0), 0);
  for (int t = 0; t < 4; ++t) threads[t] = start(await_gate, NULL);
  for (int i = 0; i < 50; ++i) set_ids();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(sem_post(&gate), 0);
  for (int t = 0; t < 4; ++t) EXPECT_EQ(pthread_join(threads[t], NULL), 0);
}

static void* expect_group(void* group) {
  EXPECT_EQ(syscall(SYS_getegid), *(gid_t*)group);
  return NULL;
}

static void* create_and_set(void* unused) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(pthread_join(start(nothing, NULL), NULL), 0);
    set_ids();
  }
  return unused;
}

CASE(threads_that_come_and_go_do_it_at_once) {
  pthread_t threads[4];
  for (int t = 0; t < 4; ++t) threads[t] = start(create_and_set, NULL);
  for (int t = 0; t < 4; ++t) EXPECT_EQ(pthread_join(threads[t], NULL), 0);
}

static atomic_int go_on;

static void* spin(void* unused) {
  while (!go_on) {
  }
  return unused;
}

// Whoever spins is asked by a signal why; libc's comes between.
CASE(threads_that_spin_do_it_and_spin_on) {
  pthread_t threads[4];
  go_on = 0;
  for (int t = 0; t < 4; ++t) threads[t] = start(spin, NULL);
  for (int i = 0; i < 50; ++i) set_ids();
  go_on = 1;
  for (int t = 0; t < 4; ++t) EXPECT_EQ(pthread_join(threads[t], NULL), 0);
}

CASE(all_threads_have_what_was_set) {
  gid_t before = getegid(), other = 4711;
  if (setegid(other) != 0) SKIP("may not change the group");
  for (int i = 0; i < 4; ++i) {
    gid_t* group = i % 2 ? &before : &other;
    EXPECT_EQ(setegid(*group), 0);
    for (int t = 0; t < 3; ++t) EXPECT_EQ(pthread_join(start(expect_group, group), NULL), 0);
  }
  EXPECT_EQ(setegid(before), 0);
}
