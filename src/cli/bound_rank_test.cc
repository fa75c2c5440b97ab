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

// As in a step of Slurm's, with further variables.
Variables slurm(const Variables& others = {}) {
  Variables variables{{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}};
  variables.insert(others.begin(), others.end());
  return variables;
}

TEST_F(BoundRankOfJob, has_no_more_than_slurm_gave) {
  auto rank = find(slurm({{"SLURM_CPUS_ON_NODE", std::to_string(kMaxCores)}}));
  ASSERT_TRUE(rank);
  EXPECT_EQ(all_.without(rank->job).count(), 0u);
  EXPECT_FALSE(find(slurm({{"SLURM_CPUS_ON_NODE", "1"}})));
  EXPECT_FALSE(find(slurm()));
  CpuSet after;
  ASSERT_EQ(affinity_of(0, after), 0);
  EXPECT_EQ(after, first_);
}

// A mask as Slurm writes it; all CPUs lie below 64.
std::string mask(const CpuSet& cpus) {
  char text[32];
  snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(cpus.words[0]));
  return text;
}

TEST_F(BoundRankOfJob, has_what_slurm_has_bound_all_tasks_of_the_step_to) {
  CpuSet second, pair = first_;
  second.set(all_.next(all_.first()));
  pair.set(second.first());
  ASSERT_LT(second.first(), 64u);
  Variables variables = slurm({{"SLURM_LOCALID", "0"},
                               {"SLURM_CPUS_ON_NODE", std::to_string(kMaxCores)},
                               {"SLURM_CPU_BIND_TYPE", "mask_cpu:"},
                               {"SLURM_CPU_BIND_LIST", mask(first_) + "," + mask(second)}});
  auto rank = find(variables);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->own, first_);
  EXPECT_EQ(rank->job, pair);

  variables["SLURM_LOCALID"] = "2";  // masks are used round and round
  EXPECT_TRUE(find(variables));
  variables["SLURM_LOCALID"] = "1";  // bound by itself, as by taskset
  EXPECT_FALSE(find(variables));
  variables["SLURM_LOCALID"] = "0";
  variables["SLURM_CPU_BIND_LIST"] = mask(first_);  // a step of one core
  EXPECT_FALSE(find(variables));
}

TEST_F(BoundRankOfJob, is_none_in_a_batch_script) {
  EXPECT_FALSE(find({{"SLURM_PROCID", "0"}, {"SLURM_CPUS_ON_NODE", std::to_string(kMaxCores)}}));
}

TEST_F(BoundRankOfJob, is_none_in_an_instance_unless_that_was_another_jobs) {
  Variables variables{{"PMI_RANK", "0"}, {"ROOST_INSTANCE", "a"}, {"SLURM_JOB_ID", "2"}};
  EXPECT_FALSE(find(variables));
  variables["ROOST_JOB"] = "1";
  EXPECT_TRUE(find(variables));
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
