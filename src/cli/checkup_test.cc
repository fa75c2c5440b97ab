// Doctor's findings say what to do, and its probes leave the process as it was.
#include "cli/checkup.h"

#include <gtest/gtest.h>

#include "cli/probes.h"
#include "cli/shared_memory.h"
#include "topo/affinity.h"

namespace roost::cli {
namespace {

void expect_advice(const std::vector<Finding>& findings) {
  EXPECT_FALSE(findings.empty());
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.topic.empty());
    EXPECT_FALSE(finding.text.empty()) << finding.topic;
    EXPECT_EQ(finding.advice.empty(), finding.level == Level::ok) << finding.topic;
  }
}

TEST(Checkup, every_line_that_is_not_ok_says_what_to_do) {
  expect_advice(examine_system());
  expect_advice(examine_cores());
}

TEST(Checkup, probing_affinity_changes_nothing) {
  CpuSet before, after;
  ASSERT_EQ(affinity_of(0, before), 0);
  EXPECT_EQ(probe_affinity(), Probe::works);
  ASSERT_EQ(affinity_of(0, after), 0);
  EXPECT_EQ(before, after);
}

TEST(Checkup, probing_again_gives_the_same_answer) {
  EXPECT_EQ(probe_syscall_user_dispatch(), probe_syscall_user_dispatch());
  EXPECT_EQ(probe_futex_waitv(), probe_futex_waitv());
  EXPECT_EQ(probe_pidfd(), probe_pidfd());
}

TEST(SharedMemory, without_room_for_an_instance_is_a_problem_that_names_both_sizes) {
  SharedMemory memory = look_at_shared_memory(std::uint64_t{1} << 60);
  EXPECT_NE(memory.problem.find("an instance needs 1048576 TiB"), std::string::npos)
      << memory.problem;
  EXPECT_EQ(look_at_shared_memory(0).problem, "");
}

TEST(SharedMemory, sizes_are_written_for_people) {
  EXPECT_EQ(format_bytes(512), "0.5 KiB");
  EXPECT_EQ(format_bytes(3'670'016), "3.5 MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{24} << 30), "24 GiB");
}

}  // namespace
}  // namespace roost::cli
