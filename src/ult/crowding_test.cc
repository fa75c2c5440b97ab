// When carriers take the CPUs to be wanted by others.
#include "ult/crowding.h"

#include <gtest/gtest.h>

namespace roost::ult {
namespace {

constexpr Nanoseconds kStart = 10'000'000'000, kShortLook = 400;

TEST(Crowding, nobody_is_kept_from_a_cpu_of_its_own) {
  Crowding crowding;
  for (Nanoseconds now = kStart; now < kStart + 1'000'000; now += kShortLook)
    EXPECT_FALSE(crowding.look(now, now - kShortLook));
}

TEST(Crowding, who_was_kept_takes_it_to_be_crowded_for_a_while) {
  Crowding crowding;
  EXPECT_TRUE(crowding.look(kStart, kStart - Crowding::kKept));
  Nanoseconds end = kStart + Crowding::kFirst;
  EXPECT_TRUE(crowding.look(end - 1, end - 1 - kShortLook));
  EXPECT_FALSE(crowding.look(end, end - kShortLook));
}

TEST(Crowding, once_more_soon_after_that_it_lasts_twice_as_long) {
  Crowding crowding;
  Nanoseconds now = kStart, lasts = Crowding::kFirst;
  for (int times = 0; times < 8; ++times) {
    EXPECT_TRUE(crowding.look(now, now - Crowding::kKept));
    EXPECT_TRUE(crowding.look(now + lasts - 1, now + lasts - 1));
    EXPECT_FALSE(crowding.look(now + lasts, now + lasts));
    now += lasts;
    lasts = std::min(2 * lasts, Crowding::kLongest);
  }
}

TEST(Crowding, long_after_that_it_begins_anew) {
  Crowding crowding;
  for (Nanoseconds now : {kStart, 2 * kStart}) {
    EXPECT_TRUE(crowding.look(now, now - Crowding::kKept));
    EXPECT_FALSE(crowding.look(now + Crowding::kFirst, now + Crowding::kFirst));
  }
}

}  // namespace
}  // namespace roost::ult
