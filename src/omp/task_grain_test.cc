// When a member executes its new tasks at once.
#include "omp/task_grain.h"

#include <gtest/gtest.h>

namespace roost::omp {
namespace {

std::uint64_t time_now = 0;
std::uint64_t fake_ticks() { return time_now; }
using Grain = TaskGrainBy<fake_ticks>;
constexpr std::uint64_t kLongTask = 10'000;
constexpr std::uint32_t kMembers = 2;

// A member that has created many tasks.
struct BusyGrain : Grain {
  BusyGrain() {
    for (int i = 0; i < 128; ++i) EXPECT_FALSE(fine(kMembers));
  }
};

// New tasks that are executed at once in a row, `most` at most.
unsigned in_a_row(Grain& grain, unsigned most) {
  unsigned count = 0;
  while (count < most && grain.fine(kMembers)) {
    grain.executed();
    ++count;
  }
  return count;
}

TEST(TaskGrain, nothing_is_executed_at_once_unless_thieves_say_so) {
  BusyGrain grain;
  EXPECT_FALSE(grain.fine(kMembers));
  grain.tell();
  EXPECT_TRUE(grain.fine(kMembers));
}

TEST(TaskGrain, not_before_many_tasks_were_created_without_a_wait) {
  Grain grain;
  for (int phase = 0; phase < 100; ++phase) {
    grain.tell();
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(grain.fine(kMembers));
    grain.begin_row();
  }
}

TEST(TaskGrain, as_long_as_tasks_are_short_more_each_time) {
  BusyGrain grain;
  unsigned before = 0;
  for (int i = 0; i < 4; ++i) {
    grain.tell();
    unsigned now = in_a_row(grain, 1 << 20);
    EXPECT_GT(now, before);
    before = now;
  }
}

TEST(TaskGrain, a_long_task_ends_it) {
  BusyGrain grain;
  grain.tell();
  EXPECT_TRUE(grain.fine(kMembers));
  time_now += kLongTask;
  grain.executed();
  EXPECT_FALSE(grain.fine(kMembers));
}

TEST(TaskGrain, a_long_task_behind_short_ones_ends_it_soon) {
  for (unsigned shorts = 0; shorts < 20; ++shorts) {
    BusyGrain grain;
    grain.tell();
    EXPECT_EQ(in_a_row(grain, shorts), shorts);
    unsigned long_ones = 0;
    while (long_ones < 100 && grain.fine(kMembers)) {
      time_now += kLongTask;
      grain.executed();
      ++long_ones;
    }
    EXPECT_LE(long_ones, 5u);
  }
}

TEST(TaskGrain, what_is_done_between_tasks_counts_for_none) {
  BusyGrain grain;
  grain.tell();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(grain.fine(kMembers));
    grain.executed();
    time_now += kLongTask;
  }
}

TEST(TaskGrain, a_wait_counts_for_none) {
  BusyGrain grain;
  for (int phase = 0; phase < 10; ++phase) {
    grain.tell();
    EXPECT_EQ(in_a_row(grain, 20), 20u);
    grain.begin_row();
    time_now += kLongTask;
    for (int i = 0; i < 128; ++i) EXPECT_FALSE(grain.fine(kMembers));
  }
}

std::uint64_t looks_at_clock = 0;
std::uint64_t counted_ticks() { return ++looks_at_clock; }

TEST(TaskGrain, the_clock_is_seldom_looked_at_while_tasks_are_short) {
  TaskGrainBy<counted_ticks> grain;
  for (int i = 0; i < 128; ++i) EXPECT_FALSE(grain.fine(kMembers));
  looks_at_clock = 0;
  grain.tell();
  unsigned count = 0;
  for (; grain.fine(kMembers); ++count) grain.executed();
  EXPECT_GE(count, 256u);
  EXPECT_LE(looks_at_clock, count / 3);
}

// Pairs of a short and a long task: each telling costs a long task's time. Of a thousand tellings
// a few are followed.
TEST(TaskGrain, long_tasks_among_short_ones_are_soon_queued_for_good) {
  BusyGrain grain;
  unsigned followed = 0;
  for (int i = 0; i < 1000; ++i) {
    grain.tell();
    if (!grain.fine(kMembers)) continue;
    ++followed;
    grain.executed();
    if (grain.fine(kMembers)) {
      time_now += kLongTask;
      grain.executed();
    }
  }
  EXPECT_LT(followed, 20u);
}

TEST(TaskGrain, a_thief_tells_of_tasks_that_are_short_in_a_row) {
  StolenTasks stolen;
  unsigned told = 0;
  for (int i = 0; i < 100; ++i) told += stolen.short_again(3, 10);
  EXPECT_GE(told, 2u);
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(stolen.short_again(3, i % 8 ? 10 : 1'000'000));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(stolen.short_again(i % 2, 10));
}

}  // namespace
}  // namespace roost::omp
