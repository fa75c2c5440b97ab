// Synthetic descriptions mean what they mean to hwloc, and errors say what to write.
#include "topo/synthetic_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "topo/hwloc_host.h"

namespace roost {
namespace {

std::string complaint_about(const char* description) {
  Machine machine;
  ErrorText error;
  EXPECT_EQ(machine_from_synthetic(description, machine, error), -EINVAL) << description;
  return error.c_str();
}

Machine built_by_hwloc(const char* description) {
  hwloc_topology_t topology;
  hwloc_topology_init(&topology);
  EXPECT_EQ(hwloc_topology_set_synthetic(topology, description), 0) << description;
  EXPECT_EQ(hwloc_topology_load(topology), 0) << description;
  CpuSet all;
  for (int cpu = 0; cpu < hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU); ++cpu) {
    all.set(static_cast<unsigned>(cpu));
  }
  Machine machine;
  EXPECT_EQ(machine_from_hwloc(topology, all, machine), 0);
  hwloc_topology_destroy(topology);
  return machine;
}

TEST(Synthetic, numbers_cores_and_what_they_share) {
  Machine machine = synthetic("pack:2 l3:2 core:2 pu:2");
  ASSERT_EQ(machine.n_cores, 16);
  EXPECT_EQ(machine.n_nodes, 1);
  EXPECT_EQ(machine.cores[0], (Core{0, 0, 0, 0, 0}));
  EXPECT_EQ(machine.cores[1], (Core{1, 0, 0, 0, 0}));
  EXPECT_EQ(machine.cores[2], (Core{2, 0, 0, 0, 1}));
  EXPECT_EQ(machine.cores[5], (Core{5, 0, 0, 1, 2}));
  EXPECT_EQ(machine.cores[15], (Core{15, 0, 1, 3, 7}));
}

TEST(Synthetic, nodes_are_near_themselves_and_equally_far_from_each_other) {
  Machine machine = synthetic("pack:2 node:2 core:1 pu:1");
  ASSERT_EQ(machine.n_nodes, 4);
  EXPECT_EQ(machine.distance[2][2], kLocalDistance);
  EXPECT_EQ(machine.distance[2][3], kRemoteDistance);
  EXPECT_EQ(machine.os_node[3], 3);
}

TEST(Synthetic, agrees_with_hwloc) {
  for (const char* description :
       {"pu:1", "core:4 pu:1", "node:2 l3:1 core:4 pu:1", "pack:2 node:4 core:8 pu:2",
        "pack:2 l3:4 l2:2 core:1 pu:2", "node:4 pack:1 l2:3 core:2 pu:1", "numa:3 pu:5",
        "socket:2 numanode:1 l5:2 l3:2 core:2 pu:2"}) {
    EXPECT_EQ(synthetic(description), built_by_hwloc(description)) << description;
  }
}

TEST(Synthetic, takes_the_largest_machine) {
  Machine machine = synthetic("node:64 core:8 pu:2");
  EXPECT_EQ(machine.n_cores, kMaxCores);
  EXPECT_EQ(machine.n_nodes, kMaxNodes);
  EXPECT_EQ(machine.cores[1023], (Core{1023, 63, 0, 63, 511}));
}

TEST(Synthetic, errors_say_what_is_wrong) {
  EXPECT_EQ(complaint_about("nodes:2 pu:1"),
            "'nodes' is no level of a machine; levels are pack, node, l1 to l5, core and pu");
  EXPECT_EQ(complaint_about("node:2 core pu:1"), "'core' lacks its number: write core:2");
  EXPECT_EQ(complaint_about("node:2 core:4x pu:1"), "'core:4x' lacks its number: write core:2");
  EXPECT_EQ(complaint_about("node:x pu:1"), "'node:x' lacks its number: write node:2");
  EXPECT_EQ(complaint_about("node:0 pu:1"),
            "a machine has 1 to 1024 PUs, and 'node' would make it 0");
  EXPECT_EQ(complaint_about("node:2 pu:999999999999"),
            "a machine has 1 to 1024 PUs, and 'pu' would make it more");
  EXPECT_EQ(complaint_about("core:2 core:2 pu:1"),
            "'core' stands twice; each level may stand once");
  EXPECT_EQ(complaint_about("pu:2 core:2"),
            "'core' stands behind pu, which must be the last level");
  EXPECT_EQ(complaint_about("node:2 core:4"),
            "the last level must be pu, as in \"node:2 core:4 pu:1\"");
  EXPECT_EQ(complaint_about("node:65 pu:1"), "a machine has at most 64 NUMA nodes, not 65");
  EXPECT_EQ(complaint_about(""), "the last level must be pu, as in \"node:2 core:4 pu:1\"");
}

}  // namespace
}  // namespace roost
