// When threads wait awake, and when they stop it.
#include "sched/awake_wait.h"

#include <gtest/gtest.h>

namespace roost {
namespace {

constexpr Nanoseconds kOnTime = 2'000;

// So many waits, of which all that are made awake end alike. How many were.
int made_awake(AwakeWaits& waits, int n, bool granted, Nanoseconds late = kOnTime) {
  int awake = 0;
  for (int i = 0; i < n; ++i) {
    if (!waits.worth_it()) continue;
    ++awake;
    waits.waited(granted, late);
  }
  return awake;
}

TEST(AwakeWaits, go_on_while_each_turn_is_the_granted_one) {
  AwakeWaits waits;
  EXPECT_EQ(made_awake(waits, 100'000, true), 100'000);
}

TEST(AwakeWaits, pause_where_turns_are_for_nothing) {
  AwakeWaits waits;
  EXPECT_EQ(made_awake(waits, AwakeWaits::kTrial, false), AwakeWaits::kTrial);
  EXPECT_EQ(made_awake(waits, AwakeWaits::kFirstPause, false), 0);
}

TEST(AwakeWaits, are_tried_again_ever_more_rarely) {
  AwakeWaits waits;
  int awake = made_awake(waits, 1'000'000, false);
  EXPECT_GT(awake, 10 * AwakeWaits::kTrial);
  EXPECT_LT(awake, 1'000'000 / 100);
}

TEST(AwakeWaits, begin_again_when_the_program_has_changed) {
  AwakeWaits waits;
  made_awake(waits, 200'000, false);
  made_awake(waits, AwakeWaits::kLongestPause, true);
  EXPECT_EQ(made_awake(waits, 1000, true), 1000);
}

TEST(AwakeWaits, may_miss_sometimes) {
  AwakeWaits waits;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(waits.worth_it()) << i;
    waits.waited(i % 2 == 0, kOnTime);
  }
}

TEST(AwakeWaits, are_not_judged_by_those_that_begin_while_all_others_sleep) {
  AwakeWaits waits;
  made_awake(waits, AwakeWaits::kSettling, false);
  EXPECT_EQ(made_awake(waits, 10'000, true), 10'000);
}

// Others use the CPU: each turn costs a slice of theirs.
TEST(AwakeWaits, end_for_long_after_two_late_grants) {
  AwakeWaits waits;
  EXPECT_EQ(made_awake(waits, AwakeWaits::kFirstRetreat, true, AwakeWaits::kLate), 2);
}

TEST(AwakeWaits, bear_one_late_grant_now_and_then) {
  AwakeWaits waits;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(waits.worth_it()) << i;
    waits.waited(true, i % AwakeWaits::kTrial == 0 ? AwakeWaits::kLate : kOnTime);
  }
}

}  // namespace
}  // namespace roost
