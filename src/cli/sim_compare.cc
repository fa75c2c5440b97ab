// `roost sim SCENARIO`: runs a scenario on a modelled machine under several schedulers and compares
// them.
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "cli/error.h"
#include "cli/progress.h"
#include "cli/sim.h"
#include "policy/policy.h"
#include "sim/report.h"
#include "sim/scenario.h"
#include "sim/simulate.h"
#include "sim/trace.h"

namespace roost::cli {
namespace {

// --set name=value, for those of the chosen policies that have such a parameter.
std::map<std::string, std::uint64_t> parameters(const SimOptions& options,
                                                const std::vector<std::string>& chosen) {
  std::map<std::string, std::uint64_t> given;
  for (const std::string& assignment : options.set) {
    std::size_t equals = assignment.find('=');
    std::string name = assignment.substr(0, equals);
    std::string text = equals == std::string::npos ? "" : assignment.substr(equals + 1);
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
      die(kWrongUsage, "--set takes NAME=VALUE with a whole number, not '{}'", assignment);
    bool known = false;
    for (const std::string& policy_name : chosen) {
      const Policy* policy = find_policy(policy_name.c_str());
      int index = policy ? find_parameter(*policy, name.c_str()) : -1;
      if (index < 0) continue;
      known = true;
      const PolicyParameter& parameter = policy->parameters[index];
      if (value < parameter.minimum || value > parameter.maximum) {
        die(kWrongUsage, "{} is from {} to {} {}, not {}", name, parameter.minimum,
            parameter.maximum, parameter.unit, value);
      }
    }
    if (!known) {
      die(kWrongUsage, "none of {} has a parameter '{}'; roost policies lists them",
          fmt::join(chosen, ", "), name);
    }
    given[name] = value;
  }
  return given;
}

}  // namespace

void write_text(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && file != stdout) written &= std::fclose(file) == 0;
  if (!written) die(kFailed, "{}: cannot be written", path);
}

int sim_compare(const SimOptions& options) {
  sim::Scenario scenario = sim::find_scenario(options.words[0]);
  sim::Machine machine =
      sim::find_machine(options.machine.empty() ? scenario.machine : options.machine);
  std::vector<std::string> policies =
      options.policies.empty() ? sim::scheduler_names() : options.policies;
  // Beside Linux itself only where it was asked for: without turbo it does the same.
  if (options.policies.empty()) std::erase(policies, "smove");
  sim::RunOptions run;
  run.governor = scenario.governor;
  run.time_limit = scenario.time_limit;
  run.check = options.check;
  for (const std::string& policy : policies) {  // a wrong name is said before the first run
    run.policy = policy;
    sim::make_scheduler(run);
  }
  run.parameters = parameters(options, policies);
  sim::Comparison comparison{
      scenario.name,
      machine.name,
      scenario.governor == sim::Governor::schedutil ? "schedutil" : "performance",
      scenario.unit,
      {}};
  std::optional<sim::TraceFile> trace;
  if (!options.trace.empty()) trace.emplace(options.trace);
  Progress progress(policies.size() * options.repeat);
  bool all_finished = true;
  for (const std::string& policy : policies) {
    for (unsigned i = 0; i < options.repeat; ++i) {
      run.policy = policy;
      run.seed = options.seed + i;
      progress.next(fmt::format("{}, seed {}", policy, run.seed));
      sim::Program program = sim::make_program(scenario, run.seed);
      std::optional<sim::Tracer> tracer;
      if (trace)
        tracer.emplace(*trace, fmt::format("{}, seed {}", policy, run.seed), machine.n_cores());
      run.watcher = tracer ? &*tracer : nullptr;
      comparison.runs.push_back(sim::simulate(machine, program, run));
      all_finished &= comparison.runs.back().finished;
    }
  }
  progress.clear();
  if (options.json != "-") fmt::print("{}", sim::comparison_table(comparison, machine));
  if (!options.json.empty()) write_text(options.json, sim::comparison_json(comparison));
  return all_finished ? 0 : kFailed;
}

}  // namespace roost::cli
