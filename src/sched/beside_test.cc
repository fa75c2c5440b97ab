// Which runs are brief, and who has the place beside a core.
#include "sched/beside.h"

#include <gtest/gtest.h>

namespace roost {
namespace {

constexpr Nanoseconds kMs = 1'000'000, kLongest = 500'000;

struct Thread {
  Runs runs;
  Nanoseconds now = 1000 * kMs;
  // It runs for so long, of which it uses `used` of a CPU; known only where cores are busy.
  void run(Nanoseconds length, Nanoseconds used, bool busy = true) {
    runs.begin(now, busy ? 7 * kMs : 0);
    now += length;
    runs.end(kLongest, now, [&] { return 7 * kMs + used; });
  }
};

TEST(Runs, some_brief_ones_are_enough) {
  Thread thread;
  EXPECT_FALSE(thread.runs.are_brief());
  thread.run(20'000, 20'000);
  EXPECT_FALSE(thread.runs.are_brief());
  thread.run(20'000, 20'000);
  EXPECT_TRUE(thread.runs.are_brief());
}

TEST(Runs, long_ones_count_for_more) {
  Thread thread;
  for (int i = 0; i < 100; ++i) thread.run(20'000, 20'000);
  for (int i = 0; i < 3; ++i) thread.run(3 * kMs, 3 * kMs);
  EXPECT_FALSE(thread.runs.are_brief());
}

TEST(Runs, one_that_the_kernel_interrupts_is_as_long_as_its_cpu_time) {
  Thread thread;
  for (int i = 0; i < 10; ++i) thread.run(3 * kMs, 100'000);
  EXPECT_TRUE(thread.runs.are_brief());
  for (int i = 0; i < 10; ++i) thread.run(3 * kMs, 100'000, false);
  EXPECT_FALSE(thread.runs.are_brief());
}

TEST(Runs, of_those_that_are_always_brief_the_cpu_time_is_not_asked) {
  Thread thread;
  for (int i = 0; i < 20; ++i) {
    bool asked = thread.runs.want_cpu_time();
    EXPECT_EQ(asked, i < 8);
    thread.run(20'000, 20'000, asked);
  }
  thread.run(3 * kMs, 20'000, thread.runs.want_cpu_time());
  EXPECT_TRUE(thread.runs.are_brief());
  EXPECT_TRUE(thread.runs.want_cpu_time());
  for (int i = 0; i < 20; ++i) thread.run(3 * kMs, 20'000, thread.runs.want_cpu_time());
  EXPECT_TRUE(thread.runs.are_brief());
}

TEST(Runs, who_has_not_run_yet_has_had_no_run) {
  Runs runs;
  for (int i = 0; i < 10; ++i) runs.end(kLongest, 5000 * kMs, [] { return Nanoseconds{0}; });
  EXPECT_FALSE(runs.are_brief());
}

struct Place : testing::Test {
  std::atomic<std::uint64_t> word{0};
  PlaceBeside place{word};
  bool take(ThreadIndex thread, bool other_is_there, Nanoseconds now = 50 * kMs) {
    return place.take(thread, now, [&](ThreadIndex) { return other_is_there; });
  }
};

TEST_F(Place, nobody_is_there_at_first) {
  EXPECT_EQ(place.thread(), kNoThread);
  EXPECT_TRUE(take(0, true));
  EXPECT_EQ(place.thread(), 0u);
}

TEST_F(Place, is_taken_while_its_thread_is_there) {
  EXPECT_TRUE(take(3, true));
  EXPECT_FALSE(take(4, true));
  EXPECT_EQ(place.thread(), 3u);
  EXPECT_TRUE(take(4, false));
  EXPECT_EQ(place.thread(), 4u);
}

TEST_F(Place, the_same_thread_may_come_again) {
  EXPECT_TRUE(take(3, true));
  EXPECT_TRUE(take(3, true, 90 * kMs));
}

TEST_F(Place, tells_for_how_long_it_has_been_taken) {
  for (Nanoseconds since : {Nanoseconds{0}, 50 * kMs, 3'000'000'000'000'000 * kMs / kMs}) {
    take(3, false, since);
    EXPECT_LT(place.age(since), 2 * kMs);
    EXPECT_LT(place.age(since + 40 * kMs), 42 * kMs);
    EXPECT_GT(place.age(since + 40 * kMs), 38 * kMs);
  }
}

}  // namespace
}  // namespace roost
