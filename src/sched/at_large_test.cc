// Whom the leader asks of those that run without a core, and when; in a time of the test's own.
#include "sched/at_large.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

namespace roost {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;

// What the leader sees, and does.
struct FakeHands {
  std::set<ThreadIndex> at_large, on_cpu;
  std::map<ThreadIndex, int> asked;

  bool is_at_large(ThreadIndex thread) { return at_large.count(thread) != 0; }
  bool uses_cpu(ThreadIndex thread) { return on_cpu.count(thread) != 0; }
  void ask_at_large(ThreadIndex thread) { ++asked[thread]; }
};

class AtLargeTest : public ::testing::Test {
 protected:
  void lose(ThreadIndex thread) {
    hands_.at_large.insert(thread);
    hands_.on_cpu.insert(thread);
    at_large_.add(thread, now_);
  }
  // The leader looks at each tick, for so long.
  void watch(Nanoseconds how_long) {
    for (Nanoseconds end = now_ + how_long; now_ < end;) {
      now_ += kBusyTick;
      at_large_.look(hands_, found_, now_);
    }
  }

  AtLarge at_large_{};
  FakeHands hands_;
  std::uint32_t found_ = 0;
  Nanoseconds now_ = 1000 * kMillisecond;
};

TEST_F(AtLargeTest, who_runs_is_asked_at_the_next_tick_and_ever_more_rarely) {
  lose(7);
  EXPECT_TRUE(at_large_.any());
  watch(kBusyTick);
  EXPECT_EQ(hands_.asked[7], 1);
  watch(1000 * kMillisecond);
  EXPECT_GT(hands_.asked[7], 15);
  EXPECT_LT(hands_.asked[7], 25);
}

TEST_F(AtLargeTest, who_sleeps_is_not_asked_until_it_runs) {
  lose(7);
  hands_.on_cpu.clear();
  watch(200 * kMillisecond);
  EXPECT_EQ(hands_.asked[7], 0);
  EXPECT_EQ(at_large_.running(), 0u);
  hands_.on_cpu.insert(7);
  watch(100 * kMillisecond);
  EXPECT_GT(hands_.asked[7], 0);
  EXPECT_EQ(at_large_.running(), 1u);
}

TEST_F(AtLargeTest, those_that_use_the_cpu_are_told) {
  lose(7);
  lose(8);
  hands_.on_cpu.erase(7);
  watch(100 * kMillisecond);
  std::vector<ThreadIndex> told;
  at_large_.for_each_running([&](ThreadIndex thread) { told.push_back(thread); });
  EXPECT_EQ(told, std::vector<ThreadIndex>{8});
}

TEST_F(AtLargeTest, all_are_asked_anew_once_one_was_found_to_wait) {
  lose(7);
  lose(8);
  watch(1000 * kMillisecond);
  int before = hands_.asked[8];
  ++found_;
  hands_.at_large.erase(7);  // it has queued for a core
  watch(kBusyTick);
  EXPECT_EQ(hands_.asked[8], before + 1);
  watch(4 * kBusyTick);
  EXPECT_GT(hands_.asked[8], before + 2);
}

TEST_F(AtLargeTest, who_comes_to_a_scheduling_point_is_forgotten) {
  lose(7);
  lose(8);
  hands_.at_large.erase(7);
  watch(100 * kMillisecond);
  EXPECT_EQ(hands_.asked[7], 0);
  EXPECT_GT(hands_.asked[8], 0);
  hands_.at_large.clear();
  watch(kBusyTick);
  EXPECT_FALSE(at_large_.any());
  EXPECT_EQ(at_large_.running(), 0u);
}

TEST_F(AtLargeTest, a_thread_that_loses_its_core_again_is_there_once) {
  lose(7);
  watch(500 * kMillisecond);
  int before = hands_.asked[7];
  lose(7);
  watch(kBusyTick);
  EXPECT_EQ(hands_.asked[7], before + 1);
  EXPECT_EQ(at_large_.running(), 1u);
}

TEST_F(AtLargeTest, those_that_do_not_fit_in_do_no_harm) {
  for (ThreadIndex thread = 0; thread < 1000; ++thread) lose(thread);
  watch(kBusyTick);
  EXPECT_GT(hands_.asked.size(), 100u);
  hands_.at_large.clear();
  watch(100 * kMillisecond);
  EXPECT_FALSE(at_large_.any());
}

// One that computes for ever.
struct Owner {
  int asked = 0, taken = 0;
  std::uint32_t passes(CoreIndex) { return 1; }
  bool find_owner(CoreIndex) { return true; }
  bool sleeps(CoreIndex) { return false; }
  bool refuses(CoreIndex) const { return false; }
  bool ask(CoreIndex) { return ++asked; }
  bool answered(CoreIndex) { return true; }
  std::uint32_t waits_found() { return 0; }
  bool wake(CoreIndex) { return false; }
  void take(CoreIndex, bool) { ++taken; }
};

// An owner beside whom others run is asked, though nobody is READY; and keeps its core.
TEST(Watchdog, an_owner_beside_those_at_large_is_asked_and_keeps_its_core) {
  for (bool at_large : {false, true}) {
    Owner owner;
    auto watchdog = std::make_unique<Watchdog>();
    for (Nanoseconds now = kMillisecond; now < 200 * kMillisecond; now += kBusyTick)
      watchdog->look(owner, 1, false, at_large, kMillisecond, now);
    EXPECT_EQ(owner.asked > 0, at_large);
    EXPECT_EQ(owner.taken, 0);
  }
}

TEST(Watchdog, who_begins_to_look_again_counts_from_then) {
  Owner owner;
  auto watchdog = std::make_unique<Watchdog>();
  constexpr Nanoseconds kPatience = 10 * kMillisecond, kAgain = 1000 * kMillisecond;
  auto look = [&](Nanoseconds now) { watchdog->look(owner, 1, true, false, kPatience, now); };
  for (Nanoseconds now = kMillisecond; now < kPatience; now += kBusyTick) look(now);
  watchdog->begin();
  look(kAgain);
  look(kAgain + kPatience - 1);
  EXPECT_EQ(owner.taken, 0);
  look(kAgain + kPatience);
  EXPECT_EQ(owner.taken, 1);
}

}  // namespace
}  // namespace roost
