// `roost sim list` and `roost sim show`: what comes with the simulator.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/error.h"
#include "cli/policy_choice.h"
#include "cli/sim.h"
#include "sim/scenario.h"
#include "sim/shipped.h"
#include "sim/simulate.h"

namespace roost::cli {

int sim_list() {
  fmt::print("machines\n");
  for (const sim::ShippedFile* file = sim::kShippedMachines; file->name; ++file) {
    sim::Machine machine = sim::find_machine(file->name);
    fmt::print("  {:<18} {:>4} cores  {}\n", machine.name, machine.n_cores(), machine.summary);
  }
  fmt::print("\nscenarios\n");
  for (const sim::ShippedFile* file = sim::kShippedScenarios; file->name; ++file)
    fmt::print("  {:<18} {}\n", file->name, sim::find_scenario(file->name).summary);
  std::vector<std::string> policies = sim::scheduler_names();
  for (const FoundPlugIn& found : find_plug_ins(look_up_own))
    if (found.policy) policies.emplace_back(found.policy->name);
  fmt::print("\npolicies\n  {}; and plug-ins by their path, as ./mine.so\n",
             fmt::join(policies, ", "));
  fmt::print("\nkinds of programs in a scenario, and their keys (default)\n");
  fmt::print("  {:<18} threads written step by step; see the manual\n", "script");
  for (const sim::Generator& generator : sim::generators()) {
    fmt::print("  {:<18} {}\n", generator.kind, generator.summary);
    for (const sim::GeneratorKey& key : generator.keys) {
      std::string standard = key.standard < 0 ? "" : fmt::format(" ({})", key.standard);
      fmt::print("    {:<22} {}{}\n", key.name, key.summary, standard);
    }
  }
  return 0;
}

int sim_show(const std::string& name) {
  for (const sim::ShippedFile* files : {sim::kShippedMachines, sim::kShippedScenarios}) {
    for (const sim::ShippedFile* file = files; file->name; ++file) {
      if (name == file->name) {
        fmt::print("{}", file->text);
        return 0;
      }
    }
  }
  die(kWrongUsage, "there is no machine or scenario '{}'; roost sim list names them", name);
}

}  // namespace roost::cli
