// roost_block_until: ends at the deadline, not before, and never costs a permit.
#include "api.h"

enum { SOON_NS = 5000000 };

CASE(without_a_permit_it_ends_once_the_deadline_has_passed) {
  uint64_t deadline = now_ns() + SOON_NS;
  EXPECT_EQ(roost_block_until(deadline), -ETIMEDOUT);
  EXPECT(now_ns() >= deadline);
}

CASE(a_deadline_that_has_passed_asks_for_a_permit) {
  EXPECT_EQ(roost_block_until(0), -ETIMEDOUT);
  EXPECT_EQ(roost_block_until(now_ns()), -ETIMEDOUT);
  EXPECT_EQ(roost_unblock(roost_self()), 0);
  EXPECT_EQ(roost_block_until(0), 0);
  EXPECT_EQ(roost_block_until(0), -ETIMEDOUT);
}

static void* wake(void* handle) {
  EXPECT_EQ(roost_unblock(*(roost_thread*)handle), 0);
  return NULL;
}

static void expect_woken_before(uint64_t deadline) {
  roost_thread self = roost_self();
  pthread_t thread = start_thread(wake, &self);
  EXPECT_EQ(roost_block_until(deadline), 0);
  join_thread(thread);
}

CASE(an_unblock_ends_it_before_the_deadline) { expect_woken_before(now_ns() + 300000000000u); }

CASE(for_ever_is_a_deadline) {
  expect_woken_before(ROOST_FOREVER);
  expect_woken_before(ROOST_FOREVER - 1);
}

struct tickets {
  shared_handle taker, giver;
  atomic_int given, taken;
};

enum { TICKETS = 3000 };

static void* give(void* data) {
  struct tickets* tickets = data;
  atomic_store(&tickets->giver, roost_self());
  for (int i = 1; i <= TICKETS; ++i) {
    atomic_store(&tickets->given, i);
    EXPECT_EQ(roost_unblock(tickets->taker), 0);
    while (atomic_load(&tickets->taken) < i) EXPECT_EQ(roost_block(), 0);
  }
  return NULL;
}

// The taker looks for a ticket only when it was given a permit: one lost is a hang.
CASE(a_permit_that_comes_at_the_deadline_is_not_lost) {
  struct tickets tickets = {.taker = roost_self()};
  pthread_t thread = start_thread(give, &tickets);
  roost_thread giver = handle_in(&tickets.giver);
  int timeouts = 0;
  while (atomic_load(&tickets.taken) < TICKETS) {
    int result = roost_block_until(now_ns() + (unsigned)(timeouts * 7919) % 60000);
    if (result == -ETIMEDOUT) {
      ++timeouts;
      continue;
    }
    EXPECT_EQ(result, 0);
    EXPECT_EQ(tickets.given, tickets.taken + 1);
    atomic_fetch_add(&tickets.taken, 1);
    EXPECT_EQ(roost_unblock(giver), 0);
  }
  join_thread(thread);
}

static void* time_out(void* data) {
  (void)data;
  for (int i = 0; i < 20; ++i) {
    uint64_t deadline = now_ns() + 200000;
    EXPECT_EQ(roost_block_until(deadline), -ETIMEDOUT);
    EXPECT(now_ns() >= deadline);
    EXPECT(roost_core() >= 0);
  }
  return NULL;
}

CASE(many_threads_time_out_at_once) {
  pthread_t threads[16];
  for (int i = 0; i < 16; ++i) threads[i] = start_thread(time_out, NULL);
  for (int i = 0; i < 16; ++i) join_thread(threads[i]);
}
