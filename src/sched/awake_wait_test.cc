// When threads wait awake, and when they stop it.
#include "sched/awake_wait.h"

#include <gtest/gtest.h>

namespace roost {
namespace {

constexpr Nanoseconds kOnTime = 2'000;

// So many waits, of which all that are made awake end alike. How many were.
int made_awake(AwakeWaits& waits, int n, int turns, bool granted, Nanoseconds late = kOnTime) {
  int awake = 0;
  for (int i = 0; i < n; ++i) {
    if (!waits.worth_it()) continue;
    ++awake;
    waits.waited(turns, granted, late);
  }
  return awake;
}

TEST(AwakeWaits, go_on_while_each_turn_is_the_granted_one) {
  AwakeWaits waits;
  EXPECT_EQ(made_awake(waits, 100'000, 1, true), 100'000);
}

TEST(AwakeWaits, pause_where_turns_are_for_nothing) {
  AwakeWaits waits;
  EXPECT_EQ(made_awake(waits, AwakeWaits::kTrial, 1, false), AwakeWaits::kTrial);
  EXPECT_EQ(made_awake(waits, AwakeWaits::kFirstPause, 1, false), 0);
}

TEST(AwakeWaits, are_tried_again_ever_more_rarely) {
  AwakeWaits waits;
  int awake = made_awake(waits, 1'000'000, 1, false);
  EXPECT_GT(awake, 10 * AwakeWaits::kTrial);
  EXPECT_LT(awake, 1'000'000 / 100);
}

TEST(AwakeWaits, begin_again_when_the_program_has_changed) {
  AwakeWaits waits;
  made_awake(waits, 200'000, 1, false);
  made_awake(waits, AwakeWaits::kLongestPause, 1, true);
  EXPECT_EQ(made_awake(waits, 1000, 1, true), 1000);
}

TEST(AwakeWaits, may_miss_sometimes) {
  AwakeWaits waits;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(waits.worth_it()) << i;
    waits.waited(1, i % 2 == 0, kOnTime);
  }
}

TEST(AwakeWaits, whose_grant_takes_three_turns_cost_more_than_sleep) {
  AwakeWaits waits;
  EXPECT_LT(made_awake(waits, 10'000, 3, true), 1'000);
}

TEST(AwakeWaits, are_not_judged_by_those_that_begin_while_all_others_sleep) {
  AwakeWaits waits;
  made_awake(waits, AwakeWaits::kSettling, 1, false);
  EXPECT_EQ(made_awake(waits, 10'000, 1, true), 10'000);
}

// Others use the CPU: each turn costs a slice of theirs.
TEST(AwakeWaits, end_for_long_after_two_late_grants) {
  AwakeWaits waits;
  EXPECT_EQ(made_awake(waits, AwakeWaits::kFirstRetreat, 1, true, AwakeWaits::kLate), 2);
}

TEST(AwakeWaits, bear_one_late_grant_now_and_then) {
  AwakeWaits waits;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(waits.worth_it()) << i;
    waits.waited(1, true, i % AwakeWaits::kTrial == 0 ? AwakeWaits::kLate : kOnTime);
  }
}

}  // namespace
}  // namespace roost
