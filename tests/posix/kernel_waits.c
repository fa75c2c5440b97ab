// Every call that waits in the kernel, waiting and not: what it waits for comes from another
// thread, which may have only the same core to run on, or is there before.
#include "kernel_waits.h"

#include "child.h"

static pid_t blocker;

static void* wait_there(void* row) {
  const struct wait* w = row;
  about_to_block(&blocker);
  EXPECT_EQ(w->call(), w->result);
  return NULL;
}

static void wait_for_another_thread(const struct wait* w) {
  w->make();
  EXPECT_EQ(pthread_create(&waiting_thread, NULL, wait_there, (void*)w), 0);
  wait_until_blocked(&blocker);
  w->satisfy();
  EXPECT_EQ(pthread_join(waiting_thread, NULL), 0);
  w->remove();
}

CASE(what_another_thread_does_ends_the_wait) {
  for (int i = 0; i < WAITS; ++i) {
    const struct wait* w = row(i);
    for (int round = 0; round < 3; ++round) wait_for_another_thread(w);
  }
}

CASE(on_one_descriptor_again_and_again) {
  make_pipe();
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(pthread_create(&waiting_thread, NULL, wait_there, (void*)&waits[0]), 0);
    if (round % 3 == 0) wait_until_blocked(&blocker);
    put_byte();
    EXPECT_EQ(pthread_join(waiting_thread, NULL), 0);
  }
  close_all();
}

CASE(what_is_there_already_is_taken_at_once) {
  waiting_thread = pthread_self();
  for (int i = 0; i < WAITS; ++i) {
    const struct wait* w = row(i);
    // A FIFO's other end is in no way there before; the rest of its case is above.
    w->make();
    w->satisfy();
    EXPECT_EQ(w->call(), w->result);
    w->remove();
  }
}

static void all_at_once(void) {
  for (int i = 0; i < WAITS; ++i) wait_for_another_thread(&waits[i]);
}

CASE(in_a_forked_child) { EXPECT_EQ(outcome_in_child(all_at_once), 0); }

CASE(one_byte_may_pass_between_processes) {
  int there[2], back[2];
  EXPECT_EQ(pipe(there), 0);
  EXPECT_EQ(pipe(back), 0);
  pid_t child = fork();
  EXPECT(child >= 0);
  char byte = 0;
  if (child == 0) {
    for (int i = 0; i < 2000; ++i) {
      if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) _exit(1);
    }
    _exit(0);
  }
  for (int i = 0; i < 2000; ++i) {
    char sent = (char)i;
    EXPECT_EQ(write(there[1], &sent, 1), 1);
    EXPECT_EQ(read(back[0], &byte, 1), 1);
    EXPECT_EQ(byte, sent);
  }
  EXPECT_EQ(outcome_of(child), 0);
}

// A child of vfork shares the memory of its parent, and may wait where the parent could.
CASE(in_a_child_of_vfork) {
  for (volatile int round = 0; round < 20; ++round) {
    volatile int got = -1;
    make_pipe();
    if (round % 2 == 0) put_byte();
    pid_t child = vfork();
    EXPECT(child >= 0);
    if (child == 0) {
      struct pollfd fd = {waiter, POLLIN, 0};
      char byte;
      got = poll(&fd, 1, round % 2 ? 1 : -1);
      if (got == 1) got = (int)read(waiter, &byte, 1);
      usleep(100);
      _exit(0);
    }
    EXPECT_EQ(got, round % 2 == 0);
    EXPECT_EQ(outcome_of(child), 0);
    close_all();
    wait_for_another_thread(&waits[0]);
  }
}

// The parent waits until the child is gone, which takes long; a thread goes on meanwhile.
static uint32_t turns;
static void* take_turns(void* unused) {
  for (int i = 0; i < 20; ++i) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    __atomic_fetch_add(&turns, 1, __ATOMIC_SEQ_CST);
  }
  return unused;
}
CASE(a_parent_of_vfork_waits_for_its_child) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, take_turns, NULL), 0);
  volatile uint32_t seen = 0;
  pid_t child = vfork();
  if (child == 0) {
    syscall(SYS_nanosleep, &(struct timespec){0, 50000000}, NULL);
    seen = __atomic_load_n(&turns, __ATOMIC_SEQ_CST);
    _exit(7);
  }
  EXPECT(child > 0);
  EXPECT(seen > 0);
  EXPECT_EQ(outcome_of(child), 7);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(turns, 20);
}
