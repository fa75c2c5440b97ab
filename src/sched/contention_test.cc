// Which core is set aside, and that a core is found out by what runs on it.
#include "sched/contention.h"

#include <gtest/gtest.h>

#include <vector>

namespace roost {
namespace {

using namespace contention;

std::vector<History> cores(const std::vector<unsigned>& late_permille) {
  std::vector<History> result;
  for (unsigned late : late_permille) {
    History history{};
    history.late_permille = late;
    history.late_windows = late >= kLatePermille ? kWindows : 0;
    result.push_back(history);
  }
  return result;
}
CoreIndex chosen(const std::vector<History>& histories, Nanoseconds now = 1) {
  return to_set_aside(histories.data(), static_cast<CoreIndex>(histories.size()), now);
}

TEST(Contention, a_core_that_is_late_among_others_that_are_not_is_set_aside) {
  EXPECT_EQ(chosen(cores({500, 10})), 0);
  EXPECT_EQ(chosen(cores({10, 0, 300, 20})), 2);
}

TEST(Contention, a_little_lateness_is_usual) { EXPECT_EQ(chosen(cores({100, 0})), kNoCore); }

TEST(Contention, one_window_proves_nothing) {
  auto histories = cores({500, 10});
  histories[0].late_windows = kWindows - 1;
  EXPECT_EQ(chosen(histories), kNoCore);
}

TEST(Contention, where_all_are_late_none_is_set_aside) {
  EXPECT_EQ(chosen(cores({500, 400})), kNoCore);
  EXPECT_EQ(chosen(cores({500, 126})), kNoCore);
  EXPECT_EQ(chosen(cores({500, 125})), 0);
}

TEST(Contention, half_of_the_cores_always_stay) {
  EXPECT_EQ(chosen(cores({500})), kNoCore);
  auto histories = cores({0, 900, 10, 10});
  histories[0].aside = true;
  EXPECT_EQ(chosen(histories), 1);
  histories[1].aside = true;
  histories[2].late_permille = 900;
  histories[2].late_windows = kWindows;
  EXPECT_EQ(chosen(histories), kNoCore);
}

TEST(Contention, after_a_mistake_a_core_is_left_in_peace_for_a_while) {
  auto histories = cores({500, 10});
  histories[0].not_before = 100;
  EXPECT_EQ(chosen(histories, 99), kNoCore);
  EXPECT_EQ(chosen(histories, 100), 0);
}

TEST(Contention, nothing_is_gained_once_the_others_are_late_too) {
  auto histories = cores({0, 500, 10});
  histories[0].aside = true;
  EXPECT_FALSE(all_are_late(histories.data(), 3));
  histories[2].late_windows = kWindows;
  EXPECT_TRUE(all_are_late(histories.data(), 3));
}

constexpr Nanoseconds kSlice = 4'000'000;

TEST(Contention, a_core_is_late_again_by_another_slice_soon_after) {
  History core{};
  EXPECT_FALSE(is_late_again(core, 0));  // it never was
  EXPECT_FALSE(is_late_again(core, 10 * kAgain));
  EXPECT_FALSE(is_late_again(core, 10 * kAgain + kApart - 1));  // the same slice
  EXPECT_TRUE(is_late_again(core, 10 * kAgain + kSlice));
  EXPECT_FALSE(is_late_again(core, 10 * kAgain + kSlice));
  EXPECT_FALSE(is_late_again(core, 11 * kAgain + kSlice));  // a long time after
}

TEST(Contention, once_is_enough_for_a_core_that_has_just_come_back) {
  History core{};
  core.late_at = 10 * kAgain;
  core.back_at = 20 * kAgain;
  EXPECT_FALSE(is_late_again(core, 19 * kAgain));  // while it is left alone
  EXPECT_TRUE(is_late_again(core, 20 * kAgain + kSlice));
  EXPECT_FALSE(is_late_again(core, 22 * kAgain));
}

TEST(Contention, a_core_is_left_for_a_while_if_the_others_are_not_late) {
  Nanoseconds now = 100 * kAgain;
  auto may = [&](std::vector<History>& histories, CoreIndex core) {
    CoreIndex n = static_cast<CoreIndex>(histories.size());
    return may_be_left(histories.data(), n, core, n * 1000u, now);
  };
  auto two = cores({0, 0});
  EXPECT_TRUE(may(two, 1));
  two[0].late_at = now - kSlice;
  EXPECT_FALSE(may(two, 1));
  two[0].late_at = now - kAgain;
  EXPECT_TRUE(may(two, 1));
  two[0].aside = true;
  EXPECT_FALSE(may(two, 1));  // one stays
  auto alone = cores({0});
  EXPECT_FALSE(may(alone, 0));
  auto eight = cores({0, 0, 0, 0, 0, 0, 0, 0});
  eight[7].late_at = now - kSlice;
  EXPECT_TRUE(may(eight, 1));
  eight[6].late_at = now - kSlice;
  EXPECT_FALSE(may(eight, 1));
}

TEST(Contention, a_core_that_nobody_needs_is_left_even_if_all_are_late) {
  Nanoseconds now = 100 * kAgain;
  auto two = cores({0, 0});
  two[0].late_at = two[1].late_at = now - kSlice;
  EXPECT_TRUE(may_be_left(two.data(), 2, 1, 1200, now));
  EXPECT_FALSE(may_be_left(two.data(), 2, 1, 1300, now));
  two[0].aside = true;
  EXPECT_FALSE(may_be_left(two.data(), 2, 1, 1000, now));  // one stays
}

TEST(Contention, a_mean_of_looks_follows_the_last_ones) {
  Mean mean;
  for (int look = 0; look < 64; ++look) mean.add(3);
  EXPECT_NEAR(mean.permille(), 3000, 10);
  for (int look = 0; look < 8; ++look) mean.add(0);
  EXPECT_NEAR(mean.permille(), 1000, 100);
}

TEST(Contention, a_core_that_is_late_as_soon_as_it_is_back_is_left_for_longer) {
  History core{};
  Nanoseconds now = 100 * kAgain;
  EXPECT_EQ(next_while(core, now), kFirstWhile);
  core.while_lasting = kFirstWhile;
  core.back_at = now - kSlice;
  EXPECT_EQ(next_while(core, now), 2 * kFirstWhile);
  core.while_lasting = kLongestWhile;
  EXPECT_EQ(next_while(core, now), kLongestWhile);
  EXPECT_EQ(next_while(core, core.back_at + kAgain), kFirstWhile);
}

}  // namespace
}  // namespace roost
