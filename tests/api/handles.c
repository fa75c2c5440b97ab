// Handles name a thread for as long as it is attached, and nobody afterwards.
#include "api.h"
#include "posix/child.h"

static void* tell_handle(void* data) {
  roost_thread handle = roost_self();
  EXPECT_EQ(roost_self(), handle);
  sched_yield();
  EXPECT_EQ(roost_self(), handle);
  *(roost_thread*)data = handle;
  return NULL;
}

static void* tell_handle_and_exit(void* data) {
  tell_handle(data);
  pthread_exit(NULL);
}

CASE(every_attached_thread_has_one) {
  roost_thread other = ROOST_NO_THREAD;
  EXPECT(roost_self() != ROOST_NO_THREAD);
  join_thread(start_thread(tell_handle, &other));
  EXPECT(other != ROOST_NO_THREAD);
  EXPECT(other != roost_self());
}

CASE(what_is_no_handle_is_refused) {
  const roost_thread wrong[] = {ROOST_NO_THREAD, UINT32_MAX, 1, 0x7fffffff, 0xfff00000};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    EXPECT_EQ(roost_unblock(wrong[i]), -ESRCH);
  for (uint32_t generation = 1; generation < 4096; ++generation) {
    roost_thread handle = (roost_self() & 0xfffff) | generation << 20;
    if (handle != roost_self()) EXPECT_EQ(roost_unblock(handle), -ESRCH);
  }
  EXPECT_EQ(roost_block_until(0), -ETIMEDOUT);
}

static void expect_ended(void* (*run)(void*)) {
  roost_thread handle = ROOST_NO_THREAD;
  join_thread(start_thread(run, &handle));
  EXPECT(handle != ROOST_NO_THREAD);
  EXPECT_EQ(roost_unblock(handle), -ESRCH);
}

CASE(the_handle_of_an_ended_thread_is_refused) {
  for (int i = 0; i < 20; ++i) {
    expect_ended(tell_handle);
    expect_ended(tell_handle_and_exit);
  }
}

struct sleeper {
  shared_handle handle;
  atomic_int released;
};

static void* block_until_released(void* data) {
  struct sleeper* sleeper = data;
  atomic_store(&sleeper->handle, roost_self());
  EXPECT_EQ(roost_block(), 0);
  EXPECT(atomic_load(&sleeper->released));
  return NULL;
}

static void expect_deaf_to(roost_thread stale) {
  struct sleeper sleeper = {0};
  pthread_t thread = start_thread(block_until_released, &sleeper);
  roost_thread handle = handle_in(&sleeper.handle);
  EXPECT(handle != stale);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(roost_unblock(stale), -ESRCH);
    sched_yield();
  }
  atomic_store(&sleeper.released, 1);
  EXPECT_EQ(roost_unblock(handle), 0);
  join_thread(thread);
}

CASE(an_old_handle_does_not_wake_the_thread_that_came_after) {
  for (int i = 0; i < 50; ++i) {
    roost_thread stale = ROOST_NO_THREAD;
    join_thread(start_thread(i % 2 ? tell_handle_and_exit : tell_handle, &stale));
    expect_deaf_to(stale);
  }
}

static void* leave_a_permit(void* data) {
  EXPECT_EQ(roost_unblock(roost_self()), 0);
  return data;
}

static void* expect_no_permit(void* data) {
  EXPECT_EQ(roost_block_until(0), -ETIMEDOUT);
  return data;
}

CASE(a_new_thread_starts_without_a_permit) {
  for (int i = 0; i < 20; ++i) {
    join_thread(start_thread(leave_a_permit, NULL));
    join_thread(start_thread(expect_no_permit, NULL));
  }
}

static roost_thread of_parent;
static void expect_own_handle(void) {
  EXPECT(roost_self() != ROOST_NO_THREAD);
  EXPECT(roost_self() != of_parent);
  EXPECT_EQ(roost_unblock(roost_self()), 0);
  EXPECT_EQ(roost_block(), 0);
}

CASE(a_forked_child_has_its_own) {
  of_parent = roost_self();
  EXPECT_EQ(outcome_in_child(expect_own_handle), 0);
  EXPECT_EQ(roost_self(), of_parent);
  EXPECT_EQ(roost_block_until(0), -ETIMEDOUT);
}

static atomic_int storm_over;
static shared_handle storm_handles[64];

static void* throw_old_handles(void* data) {
  (void)data;
  for (unsigned i = 0; !atomic_load(&storm_over); ++i) {
    int result = roost_unblock(storm_handles[i % 64]);
    if (result != 0) EXPECT_EQ(result, -ESRCH);
    if (i % 64 == 0) roost_yield();
  }
  return NULL;
}

static void* live_shortly(void* slot) {
  atomic_store((shared_handle*)slot, roost_self());
  roost_block_until(now_ns() + 20000);
  return NULL;
}

CASE(wake_ups_that_race_with_the_end_of_threads_do_no_harm) {
  pthread_t thrower = start_thread(throw_old_handles, NULL);
  for (int round = 0; round < 40; ++round) {
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i)
      threads[i] = start_thread(live_shortly, &storm_handles[(round * 8 + i) % 64]);
    for (int i = 0; i < 8; ++i) join_thread(threads[i]);
  }
  atomic_store(&storm_over, 1);
  join_thread(thrower);
}
