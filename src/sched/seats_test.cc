// Where ranks sit, for jobs and cores of many numbers.
#include "sched/seats.h"

#include <gtest/gtest.h>

#include <vector>

namespace roost {
namespace {

struct Job {
  std::uint32_t id;
  std::uint16_t ranks;
};

// The seats of all ranks, job after job.
std::vector<CoreIndex> seats(const std::vector<Job>& jobs, CoreIndex cores) {
  std::vector<Rank> all;
  for (const Job& job : jobs)
    for (std::uint16_t index = 0; index < job.ranks; ++index)
      all.push_back({job.id, index, job.ranks});
  std::vector<CoreIndex> found;
  for (const Rank& own : all) {
    Seating seating(own);
    for (const Rank& rank : all) seating.add(rank);
    found.push_back(seating.seat(cores));
  }
  return found;
}
using Seats = std::vector<CoreIndex>;

TEST(Seats, are_words_of_the_segment) {
  Rank rank = Rank::from(Rank{70'000, 3, 4}.word());
  EXPECT_EQ(rank.job, 70'000u);
  EXPECT_EQ(rank.index, 3u);
  EXPECT_EQ(rank.count, 4u);
  EXPECT_EQ(Rank{}.word(), 0u);
}

TEST(Seats, are_free_to_choose_where_each_rank_can_have_a_core) {
  EXPECT_EQ(seats({{7, 2}}, 2), (Seats{kNoCore, kNoCore}));
  EXPECT_EQ(seats({{7, 2}, {8, 1}}, 4), Seats(3, kNoCore));
}

TEST(Seats, of_ranks_that_follow_each_other_are_on_one_core) {
  EXPECT_EQ(seats({{7, 8}}, 4), (Seats{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(seats({{7, 5}}, 2), (Seats{0, 0, 0, 1, 1}));
}

TEST(Seats, of_as_many_jobs_as_cores_are_a_core_each) {
  EXPECT_EQ(seats({{7, 4}, {9, 4}}, 2), (Seats{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(seats({{9, 4}, {7, 4}}, 2), (Seats{1, 1, 1, 1, 0, 0, 0, 0}));
}

TEST(Seats, of_more_jobs_than_cores_split_as_few_as_must_be) {
  EXPECT_EQ(seats({{7, 2}, {8, 2}, {9, 2}}, 2), (Seats{0, 0, 0, 1, 1, 1}));
}

TEST(Seats, of_a_job_count_whole_when_its_first_rank_is_there) {
  Seating seating({7, 0, 4});
  seating.add({7, 0, 4});
  seating.add({});
  seating.add({7, 0, 4});  // a child of that rank
  EXPECT_EQ(seating.seat(2), 0u);
  EXPECT_EQ(seating.seat(4), kNoCore);
}

TEST(Seats, are_cores_whatever_the_variables_say) {
  for (Rank own : {Rank{7, 9, 4}, Rank{7, 0xffff, 1}, Rank{7, 0, 0}, Rank{8, 3, 4}}) {
    Seating seating(own);
    for (Rank rank : {Rank{7, 0, 4}, own, Rank{6, 0, 0xffff}}) seating.add(rank);
    CoreIndex seat = seating.seat(2);
    EXPECT_TRUE(seat < 2 || seat == kNoCore) << seat;
  }
}

TEST(Seats, are_not_found_for_jobs_beyond_the_64th) {
  Seating seating({1000, 0, 4});
  for (std::uint32_t job = 1; job <= 64; ++job) seating.add({job, 0, 2});
  seating.add({1000, 0, 4});
  EXPECT_EQ(seating.seat(2), kNoCore);
}

}  // namespace
}  // namespace roost
