// Which yields go to the kernel, by how long the last ones took.
#include "base/kernel_yields.h"

#include <gtest/gtest.h>

namespace roost {
namespace {

constexpr std::uint64_t kQuick = 1000, kPoll = 200, kSlice = 1'000'000;

// How many of `polls` yields, `apart` ticks from each other, go to the kernel, which takes `cost`.
int to_the_kernel(KernelYields& yields, int polls, std::uint64_t& now, std::uint64_t apart,
                  std::uint64_t cost) {
  int calls = 0;
  for (int poll = 0; poll < polls; ++poll) {
    now += apart;
    if (!yields.is_due(now)) continue;
    ++calls;
    yields.returned(now += cost);
  }
  return calls;
}

TEST(KernelYields, one_in_a_while_after_many_that_return_at_once) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  EXPECT_EQ(to_the_kernel(yields, 1024, now, kPoll, kQuick), 1024);
  EXPECT_EQ(to_the_kernel(yields, 1500, now, kPoll, kQuick), 10);  // of 150 polls, 30,000 ticks
}

TEST(KernelYields, each_where_others_run) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  EXPECT_EQ(to_the_kernel(yields, 100, now, kPoll, kSlice), 100);
}

// The kernel lets a peer run at one yield of some.
TEST(KernelYields, each_where_others_run_at_times) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_EQ(to_the_kernel(yields, 900, now, kPoll, kQuick), 900);
    EXPECT_EQ(to_the_kernel(yields, 1, now, kPoll, kSlice), 1);
  }
}

TEST(KernelYields, each_again_once_another_has_run) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  to_the_kernel(yields, 1100, now, kPoll, kQuick);
  ASSERT_EQ(to_the_kernel(yields, 1, now, 30'000, kSlice), 1);
  EXPECT_EQ(to_the_kernel(yields, 1000, now, kPoll, kQuick), 1000);
}

TEST(KernelYields, each_of_a_thread_that_works_in_between) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  EXPECT_EQ(to_the_kernel(yields, 2000, now, 50'000, kQuick), 2000);
}

}  // namespace
}  // namespace roost
