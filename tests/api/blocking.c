// roost_enter_blocking and roost_leave_blocking: the core is the others' in between.
#include "api.h"

CASE(the_thread_owns_no_core_in_between_and_one_afterwards) {
  EXPECT(roost_core() >= 0);
  EXPECT_EQ(roost_enter_blocking(), 0);
  EXPECT_EQ(roost_core(), -1);
  EXPECT_EQ(roost_leave_blocking(), 0);
  EXPECT(roost_core() >= 0);
}

CASE(errno_is_left_alone) {
  errno = EXDEV;
  EXPECT_EQ(roost_enter_blocking(), 0);
  EXPECT_EQ(errno, EXDEV);
  EXPECT_EQ(roost_leave_blocking(), 0);
  EXPECT_EQ(errno, EXDEV);
}

CASE(pairs_do_not_nest_and_waits_are_refused_inside) {
  EXPECT_EQ(roost_leave_blocking(), -EINVAL);
  EXPECT_EQ(roost_enter_blocking(), 0);
  EXPECT_EQ(roost_enter_blocking(), -EBUSY);
  EXPECT_EQ(roost_block(), -EBUSY);
  EXPECT_EQ(roost_block_until(0), -EBUSY);
  EXPECT_EQ(roost_yield(), -EBUSY);
  EXPECT_EQ(roost_detach(), -EBUSY);
  EXPECT_EQ(roost_attach(), -EALREADY);
  EXPECT_EQ(roost_unblock(roost_self()), 0);
  EXPECT_EQ(roost_leave_blocking(), 0);
  EXPECT_EQ(roost_leave_blocking(), -EINVAL);
  EXPECT_EQ(roost_block(), 0);
}

static void* set(void* data) {
  EXPECT(roost_core() >= 0);
  atomic_store((atomic_int*)data, 1);
  return NULL;
}

// The caller does not sleep in between, so the watchdog has no part in this.
CASE(another_thread_gets_the_core_meanwhile) {
  atomic_int flag = 0;
  pthread_t thread = start_thread(set, &flag);
  EXPECT_EQ(roost_enter_blocking(), 0);
  while (!atomic_load(&flag)) {
  }
  EXPECT_EQ(roost_leave_blocking(), 0);
  join_thread(thread);
}

struct pipe_work {
  int ends[2];
  atomic_int rounds;
};

static void* write_bytes(void* data) {
  struct pipe_work* work = data;
  for (int i = 0; i < 100; ++i) {
    while (atomic_load(&work->rounds) < i) roost_yield();
    EXPECT_EQ(write(work->ends[1], "x", 1), 1);
  }
  return NULL;
}

CASE(a_read_in_between_gets_what_a_thread_of_the_same_core_writes) {
  struct pipe_work work = {0};
  EXPECT_EQ(pipe(work.ends), 0);
  pthread_t thread = start_thread(write_bytes, &work);
  for (int i = 0; i < 100; ++i) {
    char byte = 0;
    EXPECT_EQ(roost_enter_blocking(), 0);
    ssize_t count = read(work.ends[0], &byte, 1);
    EXPECT_EQ(roost_leave_blocking(), 0);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(byte, 'x');
    atomic_fetch_add(&work.rounds, 1);
  }
  join_thread(thread);
  close(work.ends[0]);
  close(work.ends[1]);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* lock_often(void* inside) {
  for (int i = 0; i < 500; ++i) {
    if (inside) EXPECT_EQ(roost_enter_blocking(), 0);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    sched_yield();
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    if (inside) EXPECT_EQ(roost_leave_blocking(), 0);
  }
  return NULL;
}

CASE(locks_work_between_threads_inside_and_outside) {
  int inside;
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) threads[i] = start_thread(lock_often, i % 2 ? &inside : NULL);
  for (int i = 0; i < 6; ++i) join_thread(threads[i]);
}

static void* end_inside(void* exits) {
  EXPECT_EQ(roost_enter_blocking(), 0);
  if (exits) pthread_exit(NULL);
  return NULL;
}

static void* wait_and_leave(void* data) {
  (void)data;
  EXPECT(roost_core() >= 0);
  EXPECT_EQ(roost_leave_blocking(), -EINVAL);
  EXPECT_EQ(roost_block_until(now_ns() + 100000), -ETIMEDOUT);
  return NULL;
}

CASE(a_thread_that_ends_inside_harms_no_later_one) {
  for (int i = 0; i < 20; ++i) {
    join_thread(start_thread(end_inside, i % 2 ? &i : NULL));
    join_thread(start_thread(wait_and_leave, NULL));
  }
}
