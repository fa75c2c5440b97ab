// Which yields are passed over, by the registers of the last ones.
#include "base/passing_yields.h"

#include <gtest/gtest.h>

namespace roost {
namespace {

constexpr std::uint64_t kSoonAfter = 500, kOthersTurn = 50'000;

struct YieldingThread {
  PassingYields yields;
  std::uint64_t now = 1'000'000;

  // Whether it yields in earnest, so many ticks after its last yield.
  bool yields_at(std::uint64_t name, std::uint64_t after = kSoonAfter) {
    now += after;
    if (yields.goes_on(name, now)) return false;
    yields.returned(now += kOthersTurn);
    return true;
  }
};

TEST(PassingYields, who_waits_yields_each_time) {
  YieldingThread thread;
  thread.yields_at(7);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(thread.yields_at(7));
}

TEST(PassingYields, one_that_is_on_its_way_yields_now_and_then) {
  YieldingThread thread;
  thread.yields_at(1);
  int yields = 0;
  for (std::uint64_t i = 0; i < 10 * (PassingYields::kMost + 1); ++i)
    yields += thread.yields_at(10 + i);
  EXPECT_EQ(yields, 10);
}

TEST(PassingYields, one_that_comes_to_wait_yields_at_its_second_look) {
  YieldingThread thread;
  thread.yields_at(1);
  EXPECT_FALSE(thread.yields_at(2));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(thread.yields_at(2));
}

TEST(PassingYields, who_computes_between_them_yields) {
  YieldingThread thread;
  for (std::uint64_t i = 1; i < 10; ++i) EXPECT_TRUE(thread.yields_at(i, kOthersTurn));
}

}  // namespace
}  // namespace roost
