// What tests of the simulator share: a machine of round numbers, programs in words.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/simulate.h"

namespace roost::sim {

// 1 GHz; costs as measured on the 2-core VM (docs/DESIGN section 14); nothing for refills.
inline Machine round_machine(unsigned cores, unsigned nodes = 1) {
  Machine machine{};
  machine.name = "round";
  machine.sockets = nodes;
  machine.nodes_per_socket = machine.llcs_per_node = machine.threads_per_core = 1;
  machine.cores_per_llc = cores / nodes;
  machine.control = FrequencyControl::fixed;
  machine.min_mhz = machine.nominal_mhz = 1000;
  machine.smt_permille = 1000;
  machine.memory_threads = 1000;
  machine.remote_permille = 1000;
  machine.costs = {.switch_threads = 1700,
                   .handoff = 2700,
                   .wake_call = 1500,
                   .wake_busy = 1500,
                   .wake_halted = 20'000,
                   .wake_idle = 20'000,
                   .wake_polling = 3000,
                   .yield_alone = 630,
                   .yield_switch = 1700,
                   .affinity = 1500,
                   .trap = 2700,
                   .create = 20'000,
                   .create_stack = 0,
                   .end = 0,
                   .reuse = 2000,
                   .end_kept = 0,
                   .fork_process = 500'000,
                   .lock = 20,
                   .futex_look = 0,
                   .futex_call = 0,
                   .pause = 25,
                   .cache_line = 200,
                   .refill_per_kib = {}};
  machine.kernel_tick = 4'000'000;
  machine.kernel_slice = 4'000'000;
  return machine;
}

struct TestScript {
  std::string name;
  std::vector<std::string> steps;
  std::uint32_t start;
};
using TestBarriers = std::vector<std::pair<std::string, std::uint32_t>>;

inline Program program_of(const std::vector<TestScript>& scripts, const TestBarriers& barriers = {},
                          ProcessIndex processes = 1) {
  Program program;
  program.processes = processes;
  ProgramText text;
  for (const TestScript& script : scripts) {
    ScriptText words;
    words.name = script.name;
    words.steps = script.steps;
    words.place = "test";
    words.start = script.start;
    text.scripts.push_back(words);
  }
  text.barriers = barriers;
  for (ProcessIndex process = 0; process < processes; ++process)
    add_scripts(program, process, text);
  EXPECT_EQ(program_error(program), "");
  return program;
}

inline RunOptions options_for(const std::string& policy) {
  RunOptions options;
  options.policy = policy;
  options.check = true;
  options.time_limit = 100'000'000'000;
  return options;
}

inline RunResult run_script(const Machine& machine, const std::string& policy,
                            const std::vector<TestScript>& scripts,
                            const TestBarriers& barriers = {}) {
  return simulate(machine, program_of(scripts, barriers), options_for(policy));
}

inline RunResult run_script(unsigned cores, const std::string& policy,
                            const std::vector<TestScript>& scripts,
                            const TestBarriers& barriers = {}) {
  return run_script(round_machine(cores), policy, scripts, barriers);
}

}  // namespace roost::sim
