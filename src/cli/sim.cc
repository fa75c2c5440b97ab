// `roost sim`: runs a scenario on a modelled machine under several schedulers and compares them.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/error.h"
#include "cli/policy_choice.h"
#include "cli/settings.h"
#include "cli/verbs.h"
#include "sim/checker.h"
#include "sim/report.h"
#include "sim/scenario.h"
#include "sim/shipped.h"
#include "sim/simulate.h"
#include "sim/toml_reader.h"
#include "sim/trace.h"

namespace roost::cli {
namespace {

constexpr const char* kHelp =
    "Machines and scenarios are TOML files, or names of those that come with Roost. \"linux\" is "
    "a\n"
    "model of the kernel's own scheduler; the other policies are Roost's, by their very code.\n"
    "\n"
    "Examples:\n"
    "  roost sim list                                      machines, scenarios, kinds of programs\n"
    "  roost sim convoy                                    compare all policies\n"
    "  roost sim convoy --machine mn5-112 --repeat 5       on another machine, with five seeds\n"
    "  roost sim show vm-2 > mine.toml                     a machine to change\n"
    "  roost sim my.toml --machine ./mine.toml --trace t   look at t in ui.perfetto.dev";

struct Options {
  std::vector<std::string> words;
  std::string machine;
  std::vector<std::string> policies;
  std::uint64_t seed = 1;
  unsigned repeat = 1;
  std::string json;
  std::string trace;
  std::vector<std::string> set;
  bool check = false;
};

int list() {
  fmt::print("machines\n");
  for (const sim::ShippedFile* file = sim::kShippedMachines; file->name; ++file) {
    sim::Machine machine = sim::find_machine(file->name);
    fmt::print("  {:<18} {:>4} cores  {}\n", machine.name, machine.n_cores(), machine.summary);
  }
  fmt::print("\nscenarios\n");
  for (const sim::ShippedFile* file = sim::kShippedScenarios; file->name; ++file)
    fmt::print("  {:<18} {}\n", file->name, sim::find_scenario(file->name).summary);
  fmt::print("\npolicies\n  {}\n", fmt::join(sim::scheduler_names(), ", "));
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

// The text of a shipped machine or scenario.
int show(const std::string& name) {
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

// --set name=value, for those of the chosen policies that have such a parameter.
std::map<std::string, std::uint64_t> parameters(const Options& options,
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
      const Policy* policy = sim::find_any_policy(policy_name);
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

// A line on the terminal while many runs are under way.
class Progress {
 public:
  explicit Progress(std::size_t runs) : runs_(runs), terminal_(isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }
  void next(const std::string& what) {
    using std::chrono::steady_clock;
    if (terminal_ && steady_clock::now() - begin_ > std::chrono::seconds(1)) {
      constexpr std::size_t kWidth = 30;
      std::size_t full = done_ * kWidth / runs_;
      fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {} of {}: {}", "", full, "", kWidth - full,
                 done_, runs_, what);
      shown_ = true;
    }
    ++done_;
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  std::size_t runs_, done_ = 0;
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void write(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && file != stdout) written &= std::fclose(file) == 0;
  if (!written) die(kFailed, "{}: cannot be written", path);
}

int compare(const Options& options) {
  sim::Scenario scenario = sim::find_scenario(options.words[0]);
  sim::Machine machine =
      sim::find_machine(options.machine.empty() ? scenario.machine : options.machine);
  std::vector<std::string> policies =
      options.policies.empty() ? sim::scheduler_names() : options.policies;
  sim::RunOptions run;
  run.governor = scenario.governor;
  run.time_limit = scenario.time_limit;
  run.check = options.check;
  for (std::string& policy : policies) {  // a wrong name is said before the first run
    if (policy != "linux") policy = name_for_others(choose_policy(policy, look_up_own));
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
  if (!options.json.empty()) write(options.json, sim::comparison_json(comparison));
  return all_finished ? 0 : kFailed;
}

int act(const Options& options) {
  if (options.words.empty())
    die(kWrongUsage, "a scenario is missing; roost sim list names those that come with Roost");
  try {
    if (options.words[0] == "list" && options.words.size() == 1) return list();
    if (options.words[0] == "show") {
      if (options.words.size() == 2) return show(options.words[1]);
      die(kWrongUsage, "roost sim show takes the name of one machine or scenario");
    }
    if (options.words.size() > 1)
      die(kWrongUsage, "'{}' is one word too many; see roost sim --help", options.words[1]);
    return compare(options);
  } catch (const sim::InputError& error) {
    throw Failure(kWrongUsage, error.what());
  } catch (const sim::Violation& violation) {
    fmt::print(stderr, "roost: a checker found a mistake of the simulator or the policy: {}\n",
               violation.what());
    return kFailed;
  }
}

}  // namespace

Verb add_sim(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("sim", "Simulate a scenario on a machine you do not have");
  verb->add_option("scenario", options->words, "A scenario; or: list, show NAME");
  verb->add_option("--machine", options->machine, "Run on this machine instead of the scenario's");
  verb->add_option("--policy", options->policies, "Compare only these (may be repeated)")
      ->allow_extra_args(false);
  verb->add_option("--seed", options->seed, "Seed of the first run (default 1)");
  verb->add_option("--repeat", options->repeat, "Runs of each policy, with seeds that follow")
      ->check(CLI::Range(1, 10'000));
  verb->add_option("--set", options->set, "Set a parameter of a policy: NAME=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--json", options->json, "Write all figures to a file; - is standard output");
  verb->add_option("--trace", options->trace, "Write a trace for ui.perfetto.dev");
  verb->add_flag("--check", options->check, "Run under the checkers, at half the speed");
  verb->footer(kHelp);
  return {verb, [options] { return act(*options); }};
}

}  // namespace roost::cli
