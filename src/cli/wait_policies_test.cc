// Passive waits are set where the user has said nothing.
#include "cli/wait_policies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace roost::cli {
namespace {

Lookup environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

bool sets(const Assignments& changes, const std::string& name) {
  return std::any_of(changes.begin(), changes.end(), [&](const auto& c) { return c.name == name; });
}

TEST(PassiveWaits, cover_openmp_openblas_and_mpi) {
  Assignments changes = passive_waits(environment({}));
  for (const char* name :
       {"OMP_WAIT_POLICY", "KMP_BLOCKTIME", "GOMP_SPINCOUNT", "OPENBLAS_THREAD_TIMEOUT",
        "OMPI_MCA_mpi_yield_when_idle", "MPIR_CVAR_POLLS_BEFORE_YIELD", "I_MPI_WAIT_MODE"}) {
    EXPECT_TRUE(sets(changes, name)) << name;
  }
}

TEST(PassiveWaits, name_those_that_are_ours_also_when_nested) {
  auto names = [](const Assignments& changes) -> std::string {
    return changes.empty() || changes.back().name != "ROOST_WAIT_SET" ? "" : changes.back().value;
  };
  std::string first = names(passive_waits(environment({{"OMP_WAIT_POLICY", "active"}})));
  EXPECT_EQ(first.find("OMP_WAIT_POLICY"), std::string::npos);
  EXPECT_NE(first.find("OPENBLAS_THREAD_TIMEOUT"), std::string::npos);
  std::map<std::string, std::string> nested;
  for (const Assignment& set : passive_waits(environment({}))) nested[set.name] = set.value;
  EXPECT_EQ(names(passive_waits(environment(nested))), nested["ROOST_WAIT_SET"]);
}

TEST(PassiveWaits, leave_alone_what_the_user_has_set) {
  Assignments changes = passive_waits(environment({{"OPENBLAS_THREAD_TIMEOUT", ""}}));
  EXPECT_FALSE(sets(changes, "OPENBLAS_THREAD_TIMEOUT"));
  EXPECT_TRUE(sets(changes, "OMP_WAIT_POLICY"));
}

TEST(PassiveWaits, do_not_contradict_the_openmp_wait_policy_by_other_names) {
  Assignments changes = passive_waits(environment({{"OMP_WAIT_POLICY", "active"}}));
  EXPECT_FALSE(sets(changes, "OMP_WAIT_POLICY"));
  EXPECT_FALSE(sets(changes, "KMP_BLOCKTIME"));
  EXPECT_FALSE(sets(changes, "GOMP_SPINCOUNT"));
}

}  // namespace
}  // namespace roost::cli
