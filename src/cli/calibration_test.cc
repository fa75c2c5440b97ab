// What is measured becomes a machine that the simulator takes.
#include "cli/calibration.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cli/error.h"
#include "cli/own_cores.h"
#include "cli/sim.h"
#include "sim/machine.h"
#include "sim/simulate.h"
#include "topo/hwloc_host.h"
#include "topo/synthetic_test.h"

namespace roost::cli {
namespace {

sim::RunResult first_steps(const sim::Machine& machine) {
  sim::RunOptions options;
  options.policy = "linux";
  return sim::simulate(machine, sim::make_program(sim::find_scenario("first-steps"), 1), options);
}

int code_of(const SimOptions& options) {
  try {
    return sim_calibrate(options);
  } catch (const Failure& failure) {
    return failure.code();
  }
}

TEST(Calibration, medians_go_into_the_machine) {
  Figures figures;
  for (double value : {900.0, 400.0, 500.0}) figures.add("wake_busy", "ns", "", value);
  figures.add("futex_pair", "ns", "", 2100);
  figures.add("handoff", "ns", "", 2400);
  figures.add("cache_line", "ns", "", 100);
  figures.add("wake_halted", "ns", "", std::nullopt);  // not on this machine
  figures.add("refill_cache_64", "ns/KiB", "", 8);
  figures.add("refill_cache_1024", "ns/KiB", "", 4);
  figures.add("bandwidth_core", "GB/s", "", 10);
  figures.add("bandwidth_node", "GB/s", "", 35);
  figures.add("yield_share", "%", "", 20);
  Machine here = synthetic("pack:2 node:1 l3:2 core:4 pu:2");
  sim::Machine machine = sim::parse_machine(machine_file(here, figures, "m", 3), "m.toml");
  EXPECT_EQ(machine.n_cores(), 32u);
  EXPECT_EQ(machine.sockets, 2u);
  EXPECT_EQ(machine.llcs_per_node, 2u);
  EXPECT_EQ(machine.threads_per_core, 2u);
  EXPECT_EQ(machine.costs.wake_busy, 500u);
  EXPECT_EQ(machine.costs.switch_threads, 2100u - 500);
  EXPECT_EQ(machine.costs.handoff, 2400u);
  EXPECT_EQ(machine.costs.wake_polling, 2500u);
  EXPECT_EQ(machine.costs.wake_halted, 5 * 2100u);
  EXPECT_EQ(machine.costs.refill_per_kib[static_cast<unsigned>(sim::Distance::smt)], 0u);
  EXPECT_EQ(machine.costs.refill_per_kib[static_cast<unsigned>(sim::Distance::llc)], 6u);
  EXPECT_EQ(machine.costs.refill_per_kib[static_cast<unsigned>(sim::Distance::remote)], 6u);
  EXPECT_EQ(machine.memory_threads, 4u);
  EXPECT_TRUE(machine.yield_forfeits);
}

TEST(Calibration, without_any_figure_all_is_assumed_and_said_so) {
  std::string text = machine_file(synthetic("core:2 pu:1"), Figures{}, "m", 1);
  EXPECT_NE(text.find("wake_halted = 13500  # assumed"), std::string::npos) << text;
  EXPECT_TRUE(first_steps(sim::parse_machine(text, "m.toml")).finished);
}

TEST(Calibration, a_turbo_clock_becomes_a_ladder) {
  Figures figures;
  figures.add("mhz_one", "MHz", "", 3700);
  figures.add("mhz_all", "MHz", "", 2800);
  figures.add("mhz_min", "MHz", "", 1000);
  figures.add("mhz_base", "MHz", "", 2100);
  std::string text = machine_file(synthetic("pack:2 core:8 pu:1"), figures, "m", 1);
  sim::Machine machine = sim::parse_machine(text, "m.toml");
  EXPECT_EQ(machine.nominal_mhz, 2100u);
  EXPECT_EQ(machine.ladder_mhz(1), 3700u);
  EXPECT_EQ(machine.ladder_mhz(8), 2800u);
}

TEST(Calibration, this_machine_measured_in_haste_simulates) {
  Machine machine;
  ASSERT_EQ(machine_from_hwloc(own_mask(), machine), 0);
  unsigned steps = 0;
  Figures figures = measure(Bench{machine, 1'000'000}, all_measurements(), 2,
                            [&](const std::string&) { ++steps; });
  EXPECT_EQ(steps, 2 * (kernel_measurements().size() + processor_measurements().size()));
  for (const char* name : {"futex_pair", "yield_alone", "affinity", "create", "fork_process",
                           "lock", "bandwidth_core", "mhz_one", "tick"}) {
    ASSERT_TRUE(figures.has(name)) << name;
    EXPECT_EQ(figures.by_name.at(name).values.size(), 2u) << name;
    EXPECT_GT(figures.value(name, 0), 0) << name;
  }
  std::string text = machine_file(machine, figures, "here", 2);
  sim::RunResult result = first_steps(sim::parse_machine(text, "here.toml"));
  EXPECT_TRUE(result.finished) << result.trouble << '\n' << text;
}

TEST(Calibration, refuses_what_it_cannot_do_before_it_measures) {
  EXPECT_EQ(code_of({.out = "/nonexistent/here.toml"}), kFailed);
  setenv("ROOST_INSTANCE", "default", 1);
  EXPECT_EQ(code_of({}), kWrongUsage);
  unsetenv("ROOST_INSTANCE");
}

}  // namespace
}  // namespace roost::cli
