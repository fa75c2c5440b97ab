// The cores of a job, as a rank of it finds them.
#include "cli/bound_rank.h"

#include <gtest/gtest.h>

#include <map>

#include "os/sys.h"
#include "topo/affinity.h"

namespace roost::cli {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<BoundRank> find(const Variables& variables) {
  return find_bound_rank([&](const std::string& name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

bool bind_to(const CpuSet& cpus) { return os::set_affinity(0, cpus.words, sizeof cpus.words) == 0; }

// This process, bound to its first CPU by a launcher, which the test's parent is.
class BoundRankOfJob : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(affinity_of(0, all_), 0);
    if (all_.count() < 2) GTEST_SKIP() << "there is one CPU";
    first_.set(all_.first());
    ASSERT_TRUE(bind_to(first_));
  }
  void TearDown() override { bind_to(all_); }

  CpuSet all_, first_;
};

TEST_F(BoundRankOfJob, has_the_cores_of_its_launcher) {
  for (const char* variable :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK", "PMIX_RANK"}) {
    auto rank = find({{variable, "0"}});
    ASSERT_TRUE(rank) << variable;
    EXPECT_EQ(rank->own, first_);
    EXPECT_EQ(rank->job, all_);
  }
}

TEST_F(BoundRankOfJob, is_none_without_a_launcher_or_in_an_instance) {
  EXPECT_FALSE(find({}));
  EXPECT_FALSE(find({{"PMI_RANK", "0"}, {"ROOST_INSTANCE", "a"}}));
}

TEST_F(BoundRankOfJob, is_none_where_it_is_not_bound) {
  bind_to(all_);
  EXPECT_FALSE(find({{"PMI_RANK", "0"}}));
}

TEST_F(BoundRankOfJob, has_no_more_than_slurm_gave) {
  auto rank = find({{"SLURM_PROCID", "0"}, {"SLURM_CPUS_ON_NODE", std::to_string(kMaxCores)}});
  ASSERT_TRUE(rank);
  EXPECT_EQ(all_.without(rank->job).count(), 0u);
  EXPECT_FALSE(find({{"SLURM_PROCID", "0"}, {"SLURM_CPUS_ON_NODE", "1"}}));
  EXPECT_FALSE(find({{"SLURM_PROCID", "0"}}));
  CpuSet after;
  ASSERT_EQ(affinity_of(0, after), 0);
  EXPECT_EQ(after, first_);
}

TEST_F(BoundRankOfJob, shares_the_cores_of_its_job) {
  share_cores_of_job({first_, all_});
  CpuSet after;
  ASSERT_EQ(affinity_of(0, after), 0);
  EXPECT_EQ(after, all_);
  EXPECT_EQ(std::getenv("ROOST_AFFINITY"), std::to_string(all_.first()));
  unsetenv("ROOST_AFFINITY");
}

}  // namespace
}  // namespace roost::cli
