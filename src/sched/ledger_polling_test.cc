// The ledger under coop with threads that poll: they yield as soon as they run.
#include <gtest/gtest.h>

#include "sched/ledger.h"
#include "sched/local_instance_test.h"

namespace roost {
namespace {

// Two cores of a node, and ranks of a process each; 0 and 1 have the cores.
struct PollingRanks : testing::Test {
  PollingRanks() {
    run_on(0, 0);
    run_on(1, 1);
  }
  void run_on(CoreIndex core, ThreadIndex rank) {
    instance.place(rank, static_cast<ProcessIndex>(rank), core);
    instance.wake(rank);
    instance.os.clock += 1'000;
  }
  // Those of core 0 poll while one of core 1 works.
  void poll(Nanoseconds work, CoreIndex seat = kNoCore) {
    for (Nanoseconds end = instance.os.clock + work; instance.os.clock < end;) {
      instance.os.clock += 3'000;
      instance.yield(instance.owner(0), kAge, seat);
      ASSERT_EQ(instance.broken(), "");
    }
  }

  static constexpr Nanoseconds kAge = 200'000;
  LocalInstance instance{{1, 2}, 8, kCoop, 8};
};

TEST_F(PollingRanks, take_one_from_a_core_with_two_more) {
  for (ThreadIndex rank : {2, 3}) run_on(0, rank);
  for (ThreadIndex rank : {4, 5, 6, 7}) run_on(1, rank);
  poll(3 * kAge);
  EXPECT_EQ(instance.queue(0).size(), 3u);
  EXPECT_EQ(instance.queue(1).size(), 3u);
}

TEST_F(PollingRanks, take_nobody_from_a_core_with_as_many_that_serves_them_within_a_millisecond) {
  for (ThreadIndex rank : {2, 3, 4}) run_on(0, rank);
  for (ThreadIndex rank : {5, 6, 7}) run_on(1, rank);
  for (unsigned turn = 0; turn < 8; ++turn) {
    poll(kAge + kAge / 5);
    instance.yield(instance.owner(1), kAge);
  }
  for (ThreadIndex rank = 0; rank < 8; ++rank)
    EXPECT_EQ(instance.threads[rank].counters.migrations, 0u) << rank;
}

TEST_F(PollingRanks, at_their_seats_take_nobody_from_a_core_with_as_many_for_ten_milliseconds) {
  for (ThreadIndex rank : {2, 3, 4}) run_on(0, rank);
  for (ThreadIndex rank : {5, 6, 7}) run_on(1, rank);
  poll(49 * kAge, 0);
  EXPECT_EQ(instance.queue(1).size(), 3u);
  poll(2 * kAge, 0);
  EXPECT_LT(instance.queue(1).size(), 3u);
}

TEST_F(PollingRanks, wait_at_their_seats_once_they_have_yielded) {
  for (ThreadIndex rank : {2, 3}) run_on(0, rank);
  for (ThreadIndex rank : {4, 5}) run_on(1, rank);
  EXPECT_TRUE(instance.yield(0, kAge, 1));
  EXPECT_EQ(instance.queue(1), (std::vector<ThreadIndex>{0, 4, 5}));  // by process
  EXPECT_TRUE(instance.yield(1, kAge, 0));
  EXPECT_EQ(instance.queue(0), (std::vector<ThreadIndex>{1, 3}));
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(PollingRanks, wait_where_they_are_if_more_wait_at_their_seats) {
  run_on(0, 2);
  for (ThreadIndex rank : {3, 4}) run_on(1, rank);
  EXPECT_TRUE(instance.yield(0, kAge, 1));
  EXPECT_EQ(instance.queue(0), (std::vector<ThreadIndex>{0}));
  EXPECT_TRUE(instance.yield(2, kAge, 0));
  EXPECT_EQ(instance.queue(0), (std::vector<ThreadIndex>{2}));
}

TEST_F(PollingRanks, alone_take_who_waited_longest_if_the_policys_choice_has_not) {
  run_on(1, 5);
  instance.os.clock += kAge;
  run_on(1, 3);  // next in turn
  run_on(1, 7);
  EXPECT_TRUE(instance.yield(0, kAge));
  EXPECT_EQ(instance.owner(0), 5u);
  EXPECT_EQ(instance.broken(), "");
}

}  // namespace
}  // namespace roost
