// sysfs is read right on made-up machines, with files missing, and as hwloc reads it on this one.
#include "topo/sysfs.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "base/root_test.h"
#include "topo/affinity.h"
#include "topo/cpulist.h"
#include "topo/hwloc_host.h"
#include "topo/synthetic.h"

namespace roost {
namespace {

CpuSet cpus_of(const std::string& list) {
  CpuSet cpus;
  ErrorText error;
  EXPECT_EQ(parse_cpulist(list.c_str(), cpus, error), 0) << error.c_str();
  return cpus;
}

class FakeSysfs : public TestRoot {
 public:
  void cpu(unsigned number, const std::string& file, const std::string& text) const {
    write("sys/devices/system/cpu/cpu" + std::to_string(number) + "/" + file, text + "\n");
  }
  void node(const std::string& file, const std::string& text) const {
    write("sys/devices/system/node/" + file, text + "\n");
  }
  Machine read(const std::string& cpus) const {
    Machine machine;
    EXPECT_EQ(machine_from_sysfs(path(), cpus_of(cpus), machine), 0);
    return machine;
  }
};

// Two sockets, each one node with two physical cores of two threads; siblings are n and n+4.
class TwoSockets : public FakeSysfs {
 public:
  TwoSockets() {
    for (unsigned i = 0; i < 8; ++i) {
      unsigned core = i % 4;
      bool second = core >= 2;
      std::string socket = second ? "2-3,6-7" : "0-1,4-5";
      cpu(i, "topology/core_siblings_list", socket);
      cpu(i, "topology/thread_siblings_list",
          std::to_string(core) + "," + std::to_string(core + 4));
      cpu(i, "cache/index0/level", "1");
      cpu(i, "cache/index0/shared_cpu_list", std::to_string(core) + "," + std::to_string(core + 4));
      cpu(i, "cache/index1/level", "3");
      cpu(i, "cache/index1/shared_cpu_list", socket);
    }
    node("online", "0,2");
    node("node0/cpulist", "0-1,4-5");
    node("node2/cpulist", "2-3,6-7");
    node("node0/distance", "10 21");
    node("node2/distance", "31 10");
  }
};

TEST(Sysfs, reads_two_sockets_with_threads) {
  Machine machine = TwoSockets().read("0-7");
  ASSERT_EQ(machine.n_cores, 8);
  EXPECT_EQ(machine.n_nodes, 2);
  EXPECT_EQ(machine.cores[0], (Core{0, 0, 0, 0, 0}));
  EXPECT_EQ(machine.cores[1], (Core{1, 0, 0, 0, 1}));
  EXPECT_EQ(machine.cores[2], (Core{4, 0, 0, 0, 0}));
  EXPECT_EQ(machine.cores[3], (Core{5, 0, 0, 0, 1}));
  EXPECT_EQ(machine.cores[4], (Core{2, 1, 1, 1, 2}));
  EXPECT_EQ(machine.cores[7], (Core{7, 1, 1, 1, 3}));
  EXPECT_EQ(machine.os_node[1], 2);
  EXPECT_EQ(machine.distance[0][0], 10);
  EXPECT_EQ(machine.distance[0][1], 21);
  EXPECT_EQ(machine.distance[1][0], 31);
}

TEST(Sysfs, describes_only_the_cpus_asked_for) {
  Machine machine = TwoSockets().read("3,6-7");
  ASSERT_EQ(machine.n_cores, 3);
  EXPECT_EQ(machine.n_nodes, 1);
  EXPECT_EQ(machine.os_node[0], 2);
  EXPECT_EQ(machine.cores[0], (Core{3, 0, 0, 0, 0}));
  EXPECT_EQ(machine.cores[1], (Core{6, 0, 0, 0, 1}));
  EXPECT_EQ(machine.cores[2], (Core{7, 0, 0, 0, 0}));
}

TEST(Sysfs, nodes_of_memory_alone_do_not_count_but_have_their_place_in_distances) {
  TwoSockets sysfs;
  sysfs.node("online", "0-2");
  sysfs.node("node1/cpulist", "");
  sysfs.node("node0/distance", "10 99 21");
  Machine machine = sysfs.read("0-7");
  EXPECT_EQ(machine.n_nodes, 2);
  EXPECT_EQ(machine.distance[0][1], 21);
}

TEST(Sysfs, without_any_file_there_is_one_node_one_socket_one_cache) {
  Machine machine = FakeSysfs().read("0-3");
  Machine expected;
  ErrorText error;
  ASSERT_EQ(machine_from_synthetic("core:4 pu:1", expected, error), 0);
  EXPECT_EQ(machine, expected);
}

TEST(Sysfs, nonsense_in_files_counts_as_missing) {
  FakeSysfs sysfs;
  sysfs.cpu(0, "topology/core_siblings_list", "all of them");
  sysfs.cpu(0, "topology/thread_siblings_list", "1");  // without itself
  sysfs.cpu(0, "cache/index0/level", "high");
  sysfs.node("online", "many");
  sysfs.node("node0/distance", "-1");
  Machine machine = sysfs.read("0-1");
  Machine expected;
  ErrorText error;
  ASSERT_EQ(machine_from_synthetic("core:2 pu:1", expected, error), 0);
  EXPECT_EQ(machine, expected);
}

TEST(Sysfs, no_cpus_are_an_error) {
  Machine machine;
  EXPECT_EQ(machine_from_sysfs(FakeSysfs().path(), CpuSet{}, machine), -EINVAL);
}

TEST(Sysfs, and_hwloc_agree_on_this_machine) {
  CpuSet mask;
  ASSERT_EQ(affinity_of(0, mask), 0);
  Machine ours, theirs;
  ASSERT_EQ(machine_from_sysfs("", mask, ours), 0);
  ASSERT_EQ(machine_from_hwloc(mask, theirs), 0);
  EXPECT_EQ(ours, theirs);
}

}  // namespace
}  // namespace roost
