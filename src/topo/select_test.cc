// The cores of an instance: what was asked for, compact, and inside the mask.
#include "topo/select.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <string>

#include "base/root_test.h"
#include "topo/cpulist.h"
#include "topo/synthetic_test.h"

namespace roost {
namespace {

std::string selected(Machine machine, const CoreRequest& request, unsigned quota = 0) {
  ErrorText error;
  EXPECT_EQ(select_cores(machine, request, quota, error), 0) << error.c_str();
  return format_cpulist(machine_cpus(machine)).c_str();
}

std::string complaint(Machine machine, const CoreRequest& request, int expected) {
  ErrorText error;
  EXPECT_EQ(select_cores(machine, request, 0, error), expected);
  return error.c_str();
}

TEST(Select, without_quota_and_request_everything_in_the_mask_is_taken) {
  EXPECT_EQ(selected(synthetic("node:2 core:4 pu:1"), {}), "0-7");
}

TEST(Select, the_quota_cuts_and_a_request_overrides_it) {
  Machine machine = synthetic("node:2 core:4 pu:1");
  EXPECT_EQ(selected(machine, {}, 3), "0-2");
  EXPECT_EQ(selected(machine, {}, 100), "0-7");
  EXPECT_EQ(selected(machine, {.cores = 6}, 3), "0-5");
  EXPECT_EQ(selected(machine, {.cpus = "1,5-7"}, 1), "1,5-7");
}

TEST(Select, whole_nodes_come_first) {
  EXPECT_EQ(selected(synthetic("node:4 core:4 pu:1"), {.cores = 4}), "0-3");
  EXPECT_EQ(selected(synthetic("node:4 core:4 pu:1"), {.cores = 6}), "0-5");
}

TEST(Select, the_smallest_node_that_has_enough_is_taken) {
  Machine machine = synthetic("node:3 core:4 pu:1");
  CpuSet mask;
  ErrorText error;
  ASSERT_EQ(parse_cpulist("0,1,4-6,8-11", mask, error), 0);
  machine_keep(machine, mask);
  EXPECT_EQ(selected(machine, {.cores = 2}), "0-1");
  EXPECT_EQ(selected(machine, {.cores = 3}), "4-6");
  EXPECT_EQ(selected(machine, {.cores = 4}), "8-11");
  EXPECT_EQ(selected(machine, {.cores = 6}), "0-1,8-11");
  EXPECT_EQ(selected(machine, {.cores = 7}), "4-6,8-11");
}

TEST(Select, near_nodes_are_preferred) {
  Machine machine = synthetic("node:3 core:2 pu:1");
  machine.distance[0][1] = machine.distance[1][0] = 40;
  EXPECT_EQ(selected(machine, {.cores = 4}), "0-1,4-5");
}

TEST(Select, within_a_node_caches_are_filled_and_siblings_come_last) {
  Machine machine = synthetic("node:1 l3:2 core:4 pu:2");
  EXPECT_EQ(selected(machine, {.cores = 4}), "0,2,4,6");
  EXPECT_EQ(selected(machine, {.cores = 5}), "0-2,4,6");
  EXPECT_EQ(selected(machine, {.cores = 9}), "0-8");
}

TEST(Select, cpus_outside_the_mask_are_named_with_the_mask) {
  Machine machine = synthetic("core:4 pu:1");
  EXPECT_EQ(complaint(machine, {.cpus = "2-5,9"}, -ERANGE),
            "CPUs 4-5,9 are outside the affinity mask, which is 0-3");
  EXPECT_EQ(complaint(machine, {.cpus = "4"}, -ERANGE),
            "CPU 4 is outside the affinity mask, which is 0-3");
}

TEST(Select, wrong_requests_are_refused_with_a_sentence) {
  Machine machine = synthetic("core:4 pu:1");
  EXPECT_EQ(complaint(machine, {.cores = 5}, -ERANGE),
            "5 cores are asked for, and the affinity mask, 0-3, has 4");
  EXPECT_EQ(complaint(machine, {.cpus = "0-x"}, -EINVAL),
            "the CPU list '0-x' is wrong: 'x' does not start with a CPU number");
  EXPECT_EQ(complaint(machine, {.cpus = ""}, -EINVAL),
            "the CPU list is empty; write one like 0-3,8");
  EXPECT_EQ(complaint(machine, {.cpus = "0", .cores = 1}, -EINVAL),
            "a CPU list and a number of cores exclude each other");
}

TEST(Select, all_in_one_reads_sysfs_and_the_quota) {
  TestRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
  root.write("cg/cpu.max", "200000 100000\n");
  root.write("sys/devices/system/node/online", "0-1\n");
  root.write("sys/devices/system/node/node0/cpulist", "0-1\n");
  root.write("sys/devices/system/node/node1/cpulist", "2-4\n");
  CpuSet mask;
  for (unsigned cpu = 1; cpu <= 4; ++cpu) mask.set(cpu);
  Machine machine;
  ErrorText error;
  ASSERT_EQ(machine_of_instance(root.path(), mask, {}, machine, error), 0) << error.c_str();
  EXPECT_STREQ(format_cpulist(machine_cpus(machine)).c_str(), "2-3");
  EXPECT_EQ(machine_of_instance(root.path(), CpuSet{}, {}, machine, error), -EINVAL);
  EXPECT_STREQ(error.c_str(), "the affinity mask has none of the CPUs 0 to 1023");
}

RC_GTEST_PROP(Select, any_number_of_cores_is_taken_exactly_and_from_as_few_nodes_as_can_be, ()) {
  Machine machine = synthetic("node:4 l3:2 core:2 pu:2");
  auto mask = *rc::gen::nonEmpty(rc::gen::container<std::set<unsigned>>(rc::gen::inRange(0u, 32u)));
  CpuSet cpus;
  for (unsigned cpu : mask) cpus.set(cpu);
  machine_keep(machine, cpus);
  unsigned wanted = *rc::gen::inRange(1u, machine.n_cores + 1u);
  Machine part = machine;
  ErrorText error;
  RC_ASSERT(select_cores(part, {.cores = wanted}, 0, error) == 0);
  RC_ASSERT(part.n_cores == wanted);
  RC_ASSERT(machine_cpus(part).without(cpus) == CpuSet{});

  unsigned sizes[kMaxNodes] = {};
  for (unsigned i = 0; i < machine.n_cores; ++i) ++sizes[machine.cores[i].numa_node];
  std::sort(sizes, sizes + machine.n_nodes, std::greater<>());
  unsigned fewest = 0;
  for (unsigned have = 0; have < wanted; ++fewest) have += sizes[fewest];
  RC_ASSERT(part.n_nodes == fewest);
}

}  // namespace
}  // namespace roost
