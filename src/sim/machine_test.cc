// Machines as they are shipped, and what a user is told about a mistake in a file.
#include "sim/machine.h"

#include <gtest/gtest.h>

#include "sim/frequency.h"
#include "sim/scenario.h"
#include "sim/shipped.h"
#include "sim/toml_reader.h"

namespace roost::sim {
namespace {

template <class Read>
std::string complaint(Read&& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

std::string vm_with(const std::string& from, const std::string& to) {
  std::string text;
  for (const ShippedFile* file = kShippedMachines; file->name; ++file) {
    if (file->name == std::string("vm-2")) text = file->text;
  }
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return complaint([&] { parse_machine(text, "my.toml"); });
}

TEST(Machine, all_that_are_shipped_can_be_read) {
  unsigned n = 0;
  for (const ShippedFile* file = kShippedMachines; file->name; ++file, ++n) {
    Machine machine = find_machine(file->name);
    EXPECT_EQ(machine.name, file->name);
    EXPECT_NE(machine.source, "");
  }
  EXPECT_GE(n, 12u);
}

TEST(Machine, the_papers_machines_have_their_cores) {
  EXPECT_EQ(find_machine("xeon-e7-8870v4-4").n_cores(), 160);
  EXPECT_EQ(find_machine("xeon-6130-2").n_cores(), 64);
  EXPECT_EQ(find_machine("xeon-6130-4").n_cores(), 128);
  EXPECT_EQ(find_machine("xeon-5218-2").n_cores(), 64);
  EXPECT_EQ(find_machine("mn5-112").n_cores(), 112);
  EXPECT_EQ(find_machine("mn5-56").n_cores(), 56);
  EXPECT_EQ(find_machine("zen4-64").nodes(), 8u);
  EXPECT_EQ(find_machine("opteron-64").nodes(), 8u);
  EXPECT_EQ(find_machine("xeon-72").nodes(), 4u);
  EXPECT_EQ(find_machine("kunpeng-192").n_cores(), 192);
  EXPECT_EQ(find_machine("kunpeng-48").nodes(), 2u);
}

// NEST Table 3.
TEST(Machine, the_turbo_ladder_is_the_papers) {
  Machine machine = find_machine("xeon-5218-2");
  EXPECT_EQ(machine.ladder_mhz(1), 3900u);
  EXPECT_EQ(machine.ladder_mhz(3), 3700u);
  EXPECT_EQ(machine.ladder_mhz(8), 3600u);
  EXPECT_EQ(machine.ladder_mhz(9), 3100u);
  EXPECT_EQ(machine.ladder_mhz(16), 2800u);
}

TEST(Machine, distances_follow_the_topology) {
  Machine machine = find_machine("xeon-5218-2");
  EXPECT_EQ(machine.sibling(0), 16);
  EXPECT_EQ(machine.sibling(48), 32);
  EXPECT_EQ(machine.distance(0, 16), Distance::smt);
  EXPECT_EQ(machine.distance(0, 1), Distance::llc);
  EXPECT_EQ(machine.distance(0, 32), Distance::remote);
  Machine zen = find_machine("zen4-64");
  EXPECT_EQ(zen.distance(0, 3), Distance::llc);
  EXPECT_EQ(zen.distance(0, 4), Distance::node);
  EXPECT_EQ(zen.distance(0, 8), Distance::socket);
  EXPECT_EQ(zen.distance(0, 32), Distance::remote);
}

TEST(Machine, a_mistake_names_file_line_key_and_what_is_allowed) {
  EXPECT_EQ(vm_with("sockets = 1", "sockets = 0"),
            "my.toml:7: 'topology.sockets' must be a whole number from 1 to 16, not 0");
  EXPECT_EQ(vm_with("sockets = 1", "sockets = \"two\""),
            "my.toml:7: 'topology.sockets' must be a whole number from 1 to 16, not 'two'");
  EXPECT_EQ(vm_with("sockets = 1", "socket = 1"),
            "my.toml:6: 'topology.sockets' is missing; it must be a whole number from 1 to 16");
  EXPECT_EQ(vm_with("sockets = 1", "sockets = 1\ncolour = 1"),
            "my.toml:8: there is no key 'topology.colour'; allowed in 'topology': cores_per_llc, "
            "llcs_per_node, nodes_per_socket, sockets, threads_per_core");
  EXPECT_EQ(vm_with("control = \"fixed\"", "control = \"free\""),
            "my.toml:14: 'frequency.control' must be one of \"fixed\", \"hardware\", \"software\", "
            "not 'free'");
  EXPECT_EQ(vm_with("sockets = 1", "sockets = ").find("my.toml:7: this is not TOML: "), 0u);
  EXPECT_NE(complaint([] { find_machine("cray"); }).find("there are kunpeng-192, "),
            std::string::npos);
}

std::string scenario_with(const std::string& program) {
  return complaint([&] {
    make_program(parse_scenario("name = 'x'\nsummary = 'y'\n[[program]]\n" + program, "s.toml"), 1);
  });
}

TEST(Scenario, a_mistake_in_a_program_is_explained) {
  EXPECT_NE(scenario_with("kind = 'dance'").find("s.toml:4: 'program.kind' must be one of"),
            std::string::npos);
  EXPECT_EQ(scenario_with("kind = 'convoy'"),
            "s.toml:3: 'program.threads' is missing; it must be a whole number from 1 to 10000");
  std::string script = "kind = 'script'\n[[program.script]]\nname = 'a'\nstart = 1\nsteps = [";
  EXPECT_EQ(scenario_with(script + "'compute 10k']"), "none");
  EXPECT_EQ(
      scenario_with(script + "'compute ten']"),
      "s.toml:5: script 'a': \"compute ten\": must read \"compute CYCLES [memory PERMILLE]\"");
  EXPECT_EQ(scenario_with(script + "'barrier b']"),
            "s.toml:5: script 'a': \"barrier b\": [program.barriers] does not say how many members "
            "'b' has");
  EXPECT_EQ(scenario_with(script + "'fork b']"),
            "s.toml:5: script 'a': \"fork b\": there is no script 'b'");
  EXPECT_EQ(scenario_with(script + "'repeat 3']"), "x: script 'a': a repeat has no end");
}

TEST(Scenario, all_that_are_shipped_can_be_read) {
  for (const ShippedFile* file = kShippedScenarios; file->name; ++file) {
    Scenario scenario = find_scenario(file->name);
    EXPECT_EQ(scenario.name, file->name);
    EXPECT_NO_THROW(find_machine(scenario.machine));
    EXPECT_FALSE(make_program(scenario, 1).scripts.empty());
  }
}

// A core that computes gains 500 MHz a millisecond up to the ladder's step; with three active cores
// the step is 3700.
TEST(Frequencies, a_busy_core_climbs_to_what_the_ladder_allows) {
  Machine machine = find_machine("xeon-5218-2");
  Frequencies frequencies(machine, Governor::schedutil);
  EXPECT_EQ(frequencies.mhz(0), 1000u);
  auto none = [](CoreIndex) {};
  frequencies.begins(0, 0);
  frequencies.set_used(0, true, 0);
  for (Nanoseconds ms = 1; ms <= 3; ++ms) frequencies.update(ms * 1'000'000, none);
  EXPECT_EQ(frequencies.mhz(0), 2500u);
  for (Nanoseconds ms = 4; ms <= 10; ++ms) frequencies.update(ms * 1'000'000, none);
  EXPECT_EQ(frequencies.mhz(0), 3900u);
  for (CoreIndex core : {1, 2}) frequencies.begins(core, 10'000'000);
  frequencies.update(11'000'000, none);
  EXPECT_EQ(frequencies.mhz(0), 3700u);
  EXPECT_EQ(frequencies.mhz(16), 3700u);  // its hyperthread
  // Idle: it keeps its frequency for 20 ms, and the others count as active for 10.
  for (CoreIndex core : {0, 1, 2}) frequencies.ends(core, 11'000'000);
  frequencies.update(30'000'000, none);
  EXPECT_EQ(frequencies.mhz(0), 3700u);
  frequencies.update(31'000'000, none);
  EXPECT_EQ(frequencies.mhz(0), 1000u);
}

TEST(Frequencies, the_governor_sets_the_floor_and_what_software_asks_for) {
  Machine machine = find_machine("xeon-e7-8870v4-4");
  EXPECT_EQ(Frequencies(machine, Governor::performance).mhz(0), 2100u);
  Frequencies frequencies(machine, Governor::schedutil);
  frequencies.begins(0, 0);
  // Used for a quarter of the time: utilisation tends to 256 of 1024, and schedutil asks for
  // 1.25 * 3000 * 256 / 1024 = 937 MHz, below the least frequency.
  for (Nanoseconds ms = 0; ms < 800; ms += 4) {
    frequencies.set_used(0, true, ms * 1'000'000);
    frequencies.set_used(0, false, (ms + 1) * 1'000'000);
    frequencies.update((ms + 4) * 1'000'000, [](CoreIndex) {});
  }
  EXPECT_EQ(frequencies.mhz(0), 1200u);
}

}  // namespace
}  // namespace roost::sim
