// What an instance knows of its cores is what the machine says of them.
#include "segment/cores.h"

#include <gtest/gtest.h>

#include <memory>

#include "topo/synthetic_test.h"

namespace roost {
namespace {

std::unique_ptr<SegmentConfig> cores_of(const char* description) {
  auto config = std::make_unique<SegmentConfig>();
  describe_cores(synthetic(description), *config);
  return config;
}

TEST(Cores, hardware_threads_of_a_physical_core_know_each_other) {
  auto config = cores_of("pack:2 node:1 core:2 pu:2");
  ASSERT_EQ(config->n_cores, 8);
  for (CoreIndex core = 0; core < 8; ++core) {
    int sibling = core + config->cores[core].to_sibling;
    ASSERT_NE(sibling, core);
    EXPECT_EQ(sibling + config->cores[sibling].to_sibling, core);
    EXPECT_EQ(config->cores[sibling].node, config->cores[core].node);
  }
}

TEST(Cores, four_hardware_threads_make_a_ring) {
  auto config = cores_of("core:2 pu:4");
  for (CoreIndex start : {0, 4}) {
    int core = start;
    for (int step = 0; step < 4; ++step) {
      EXPECT_NE(config->cores[core].to_sibling, 0);
      core += config->cores[core].to_sibling;
      EXPECT_TRUE(core == start || step < 3);
      EXPECT_EQ(core / 4, start / 4);
    }
    EXPECT_EQ(core, start);
  }
}

TEST(Cores, a_core_with_one_hardware_thread_has_no_sibling) {
  auto config = cores_of("node:2 core:3 pu:1");
  for (CoreIndex core = 0; core < 6; ++core) EXPECT_EQ(config->cores[core].to_sibling, 0);
  EXPECT_EQ(config->cores[4].node_first, 3);
  EXPECT_EQ(config->cores[4].node_end, 6);
}

// Of a machine cut to some of its CPUs, the sibling may be elsewhere.
TEST(Cores, a_sibling_outside_the_instance_does_not_count) {
  Machine machine = synthetic("core:2 pu:2");
  CpuSet keep;
  for (unsigned i : {0u, 1u, 2u}) keep.set(machine.cores[i].os_cpu);
  machine_keep(machine, keep);
  auto config = std::make_unique<SegmentConfig>();
  describe_cores(machine, *config);
  int with = 0;
  for (CoreIndex core = 0; core < 3; ++core) with += config->cores[core].to_sibling != 0;
  EXPECT_EQ(with, 2);
}

}  // namespace
}  // namespace roost
