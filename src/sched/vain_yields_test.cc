// When yields look as if nobody had anything to do, and that the turn is given up then.
#include "sched/vain_yields.h"

#include <gtest/gtest.h>

#include "policy/coop.h"
#include "sched/local_instance_test.h"

namespace roost {
namespace {

constexpr Nanoseconds kStep = 1000;

struct Yields : testing::Test {
  // The next yield after so long.
  std::uint32_t after(Nanoseconds pause) { return yields.count(now += pause); }
  VainYields yields{};
  Nanoseconds now = 5'000'000;
};

TEST_F(Yields, some_tens_that_follow_each_other_fast_are_in_vain) {
  for (int i = 1; i < 32; ++i) EXPECT_EQ(after(kStep), 0u) << i;
  EXPECT_EQ(after(kStep), 32u);
  EXPECT_EQ(after(kStep), 33u);
  yields.forget();
  EXPECT_EQ(after(kStep), 0u);
}

TEST_F(Yields, of_threads_that_work_in_between_are_not) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(after(20 * kStep), 0u) << i;
}

TEST_F(Yields, are_counted_anew_after_a_pause) {
  for (int i = 0; i < 100; ++i) after(kStep);
  EXPECT_EQ(after(10'000 * kStep), 0u);
  for (int i = 0; i < 31; ++i) after(kStep);
  EXPECT_GT(after(kStep), 0u);
}

TEST_F(Yields, come_to_more_where_others_use_the_turns_they_are_given) {
  auto until_in_vain = [&] {
    int n = 1;
    while (after(kStep) == 0) ++n;
    return n;
  };
  EXPECT_EQ(until_in_vain(), 32);
  int before = 32;
  for (int i = 0; i < 20; ++i) {
    yields.gave(now, 1);
    now += 20'000 * kStep;
    int n = until_in_vain();
    EXPECT_TRUE(n > before || n >= 2500) << i;  // until 4 times as long is 20 ms
    before = n;
  }
  EXPECT_LT(before, 16'000);
  for (int i = 0; i < 20; ++i) {
    yields.gave(now, 3);
    now += 100 * kStep;
    before = until_in_vain();
  }
  EXPECT_EQ(before, 32);
}

// Threads 0, 1 and 2 of process 0 share a core with 3 of process 1.
struct TurnGivenUp : testing::Test {
  TurnGivenUp() {
    for (ThreadIndex thread : {0, 1, 2}) instance.place(thread, 0);
    instance.place(3, 1);
    instance.os.my_process = 0;
    for (ThreadIndex thread : {0, 1}) instance.wake(thread);
  }
  // Of who has the core, when so many have come to nothing.
  void yield(std::uint32_t yields) {
    in_vain = yields;
    ThreadIndex self = instance.owner(0);
    instance.os.clock += kStep;
    instance.ledger.yield(self, instance.ledger.core_of(self), 0, kNoCore, in_vain);
    EXPECT_EQ(instance.broken(), "");
  }
  LocalInstance instance{{1, 1}, 4, kCoop};
  std::uint32_t in_vain = 0;
};

TEST_F(TurnGivenUp, to_a_process_that_is_ready_there) {
  instance.wake(3);
  yield(0);
  EXPECT_EQ(instance.owner(0), 1u);
  yield(32);
  EXPECT_EQ(instance.owner(0), 3u);
  EXPECT_EQ(in_vain, 1u);
  instance.block(3);
  EXPECT_EQ(instance.owner(0), 0u);
}

TEST_F(TurnGivenUp, only_where_there_is_one) {
  yield(32);
  EXPECT_EQ(instance.owner(0), 1u);
  EXPECT_EQ(in_vain, 0u);
}

TEST_F(TurnGivenUp, not_before_each_thread_has_yielded_twice) {
  for (ThreadIndex thread : {2, 3}) instance.wake(thread);
  yield(4);
  EXPECT_EQ(instance.owner(0), 1u);
  yield(5);
  EXPECT_EQ(instance.owner(0), 3u);
}

}  // namespace
}  // namespace roost
