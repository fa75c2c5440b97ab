// Arranging and reducing machines keeps what cores share.
#include "topo/machine.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "topo/synthetic_test.h"

namespace roost {
namespace {

TEST(Machine, is_sorted_by_node_and_cpu_with_groups_numbered_from_zero) {
  Machine machine;
  machine.n_cores = 4;
  machine.n_nodes = 3;
  machine.os_node[0] = 0, machine.os_node[1] = 4, machine.os_node[2] = 7;
  machine.distance[1][2] = 17;
  machine.distance[2][1] = 18;
  machine.cores[0] = {0, 2, 9, 900, 5};
  machine.cores[1] = {1, 1, 3, 300, 1};
  machine.cores[2] = {2, 2, 9, 900, 5};
  machine.cores[3] = {3, 1, 3, 301, 3};
  machine_arrange(machine);
  EXPECT_EQ(machine.cores[0], (Core{1, 0, 0, 0, 0}));
  EXPECT_EQ(machine.cores[1], (Core{3, 0, 0, 1, 1}));
  EXPECT_EQ(machine.cores[2], (Core{0, 1, 1, 2, 2}));
  EXPECT_EQ(machine.cores[3], (Core{2, 1, 1, 2, 2}));
  EXPECT_EQ(machine.n_nodes, 2);
  EXPECT_EQ(machine.os_node[0], 4);
  EXPECT_EQ(machine.os_node[1], 7);
  EXPECT_EQ(machine.distance[0][1], 17);
  EXPECT_EQ(machine.distance[1][0], 18);
}

TEST(Machine, unknown_caches_are_shared_by_the_cores_of_a_socket_in_a_node) {
  Machine machine;
  machine.n_cores = 4;
  constexpr auto unknown = kUnknownGroup;
  machine.cores[0] = {0, 0, 0, unknown, unknown};
  machine.cores[1] = {1, 0, 1, unknown, unknown};
  machine.cores[2] = {2, 1, 1, unknown, unknown};
  machine.cores[3] = {3, 1, 1, unknown, unknown};
  machine_arrange(machine);
  EXPECT_EQ(machine.cores[0].llc, 0);
  EXPECT_EQ(machine.cores[1].llc, 1);
  EXPECT_EQ(machine.cores[2].llc, 2);
  EXPECT_EQ(machine.cores[3].llc, 2);
  EXPECT_EQ(machine.cores[3].smt_sibling_group, 3);
}

RC_GTEST_PROP(Machine, arranging_twice_changes_nothing, ()) {
  const char* description =
      *rc::gen::element("node:4 l3:2 core:3 pu:2", "pack:2 core:5 pu:1", "pu:7");
  Machine machine = synthetic(description);
  Machine again = machine;
  machine_arrange(again);
  RC_ASSERT(again == machine);
}

RC_GTEST_PROP(Machine, keeping_some_cores_keeps_what_they_share, ()) {
  const Machine whole = synthetic("pack:2 node:2 l3:2 core:2 pu:2");
  auto keep = *rc::gen::container<std::set<unsigned>>(rc::gen::inRange(0u, 40u));
  CpuSet cpus;
  for (unsigned cpu : keep) cpus.set(cpu);
  Machine part = whole;
  machine_keep(part, cpus);
  CpuSet expected = machine_cpus(whole);
  expected &= cpus;
  RC_ASSERT(machine_cpus(part) == expected);
  for (unsigned i = 0; i < part.n_cores; ++i) {
    for (unsigned j = 0; j < part.n_cores; ++j) {
      const Core& a = part.cores[i];
      const Core& b = part.cores[j];
      const Core& a0 = whole.cores[a.os_cpu];
      const Core& b0 = whole.cores[b.os_cpu];
      for (auto field : {&Core::numa_node, &Core::socket, &Core::llc, &Core::smt_sibling_group}) {
        RC_ASSERT((a.*field == b.*field) == (a0.*field == b0.*field));
      }
      RC_ASSERT(part.distance[a.numa_node][b.numa_node] ==
                whole.distance[a0.numa_node][b0.numa_node]);
    }
  }
}

}  // namespace
}  // namespace roost
