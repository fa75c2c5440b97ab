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

TEST(kernel_yields, one_in_a_while_after_some_that_return_at_once) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  EXPECT_EQ(to_the_kernel(yields, 8, now, kPoll, kQuick), 8);
  EXPECT_EQ(to_the_kernel(yields, 1500, now, kPoll, kQuick), 10);  // of 150 polls, 30,000 ticks
}

TEST(kernel_yields, each_where_others_run) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  EXPECT_EQ(to_the_kernel(yields, 100, now, kPoll, kSlice), 100);
}

TEST(kernel_yields, each_again_once_another_has_run) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  to_the_kernel(yields, 100, now, kPoll, kQuick);
  ASSERT_EQ(to_the_kernel(yields, 1, now, 30'000, kSlice), 1);
  EXPECT_EQ(to_the_kernel(yields, 8, now, kPoll, kSlice), 8);
}

TEST(kernel_yields, each_of_a_thread_that_works_in_between) {
  KernelYields yields;
  std::uint64_t now = 1'000'000;
  EXPECT_EQ(to_the_kernel(yields, 100, now, 50'000, kQuick), 100);
}

}  // namespace
}  // namespace roost
