// `roost sim SCENARIO`: runs a scenario on a modelled machine under several schedulers and compares
// them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "cli/error.h"
#include "cli/output_file.h"
#include "cli/policy_choice.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/sim.h"
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
  for (const std::string& typed : options.set) {
    for (const auto& [name, text] : split_assignments(typed)) {
      bool known = false;
      for (const std::string& policy_name : chosen) {
        const Policy* policy = sim::find_any_policy(policy_name);
        int index = policy ? find_parameter(*policy, name.c_str()) : -1;
        if (index < 0) continue;
        known = true;
        given[name] = parse_parameter(policy->parameters[index], text);
      }
      if (!known) {
        die(kWrongUsage, "none of {} has a parameter '{}'; roost policies lists them",
            fmt::join(chosen, ", "), name);
      }
    }
  }
  return given;
}

// Shows how far a run is: by the work of its program, or its requests if it has no end of its own.
class RunProgress : public sim::Observer {
 public:
  RunProgress(Progress& progress, const sim::Program& program)
      : progress_(progress),
        work_(sim::total_work(program)),
        requests_(static_cast<double>(program.arrivals.size())) {}
  void computed(ThreadIndex, std::uint64_t work) override { done_ += static_cast<double>(work); }
  void replied(Nanoseconds) override { ++replies_; }
  void at_rest() override {
    constexpr unsigned kEvery = 1 << 14;
    if (++events_ % kEvery) return;
    progress_.inside(work_ > 0 ? done_ / work_ : requests_ > 0 ? replies_ / requests_ : 0);
  }

 private:
  Progress& progress_;
  double work_, requests_, done_ = 0, replies_ = 0;
  unsigned events_ = 0;
};

}  // namespace

void write_text(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && file != stdout) written &= std::fclose(file) == 0;
  if (!written) die(kFailed, "{}: cannot be written", path);
}

int sim_compare(const SimOptions& options) {
  for (const auto& [option, value] :
       {std::pair{"--machine", &options.machine}, std::pair{"--json", &options.json},
        std::pair{"--trace", &options.trace}}) {
    if (value->empty() &&
        std::find(options.given.begin(), options.given.end(), option) != options.given.end()) {
      die(kWrongUsage, "{} takes a name", option);
    }
  }
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
  for (std::string& policy : policies) {  // a wrong name is said before the first run
    if (!sim::is_linux(policy)) policy = name_for_others(choose_policy(policy, look_up_own));
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
  if (!options.json.empty() && options.json != "-")
    check_output(options.json, sim::kComparisonBegins, "comparison", "--json", kFailed);
  std::optional<sim::TraceFile> trace;
  if (!options.trace.empty()) {
    check_output(options.trace, sim::kTraceBegins, "simulated trace", "--trace", kFailed);
    trace.emplace(options.trace);
  }
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
      RunProgress run_progress(progress, program);
      run.watchers.clear();
      if (tracer) run.watchers.push_back(&*tracer);
      if (progress.is_shown()) run.watchers.push_back(&run_progress);
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
