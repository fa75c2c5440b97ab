// The loop engine: iteration counts, and blocks of them.
#include "omp/loop.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace roost::omp {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

std::uint64_t minus(std::uint64_t step) { return 0 - step; }

TEST(TripCount, IsThatOfAnOrdinaryLoop) {
  for (std::int64_t first = -9; first < 10; ++first) {
    for (std::int64_t end = -9; end < 10; ++end) {
      for (std::uint64_t step = 1; step < 5; ++step) {
        std::uint64_t up = 0;
        std::uint64_t down = 0;
        for (std::int64_t i = first; i < end; i += static_cast<std::int64_t>(step)) ++up;
        for (std::int64_t i = first; i > end; i -= static_cast<std::int64_t>(step)) ++down;
        EXPECT_EQ(trip_count(first, end, true, step), up);
        EXPECT_EQ(trip_count(first, end, false, minus(step)), down);
        EXPECT_EQ(trip_count_to(first, end - 1, true, step), up);
        EXPECT_EQ(trip_count_to(first, end + 1, false, minus(step)), down);
      }
    }
  }
}

TEST(TripCount, DoesNotOverflowAtTheEndsOfARange) {
  EXPECT_EQ(trip_count(kLow, kHigh, true, 1), kTop);
  EXPECT_EQ(trip_count(kHigh, kLow, false, minus(1)), kTop);
  EXPECT_EQ(trip_count(kLow, kHigh, true, std::uint64_t{1} << 62), 4u);
  EXPECT_EQ(trip_count(kHigh - 1, kHigh, true, std::uint64_t{1} << 62), 1u);
  EXPECT_EQ(trip_count_to(kLow, kHigh - 1, true, 1), kTop);
  EXPECT_EQ(trip_count(std::uint64_t{0}, kTop, true, 1), kTop);
  EXPECT_EQ(trip_count(kTop, std::uint64_t{0}, false, minus(kTop)), 1u);
}

TEST(Blocks, CoverAllIterationsInOrderAndDifferByOneAtMost) {
  for (std::uint64_t trip : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63},
                             std::uint64_t{64}, std::uint64_t{1000}, kTop}) {
    for (std::uint64_t size : {1u, 2u, 7u, 64u}) {
      std::uint64_t next = 0;
      for (std::uint64_t number = 0; number < size; ++number) {
        Block block = block_of(trip, size, number);
        EXPECT_EQ(block.low, next);
        std::uint64_t length = block.high - block.low;
        EXPECT_TRUE(length == trip / size || length == trip / size + 1);
        next = block.high;
      }
      EXPECT_EQ(next, trip);
    }
  }
}

}  // namespace
}  // namespace roost::omp
