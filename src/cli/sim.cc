// `roost sim`: its options; what it does stands in sim_*.cc.
#include "cli/sim.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <memory>

#include "cli/error.h"
#include "cli/number.h"
#include "cli/verbs.h"
#include "sim/checker.h"
#include "sim/toml_reader.h"

namespace roost::cli {
namespace {

constexpr const char* kSimHelp =
    "Machines and scenarios are TOML files, or names of those that come with Roost. \"linux\" is "
    "a\n"
    "model of the kernel's own scheduler; the other policies are Roost's, by their very code.\n"
    "\n"
    "Examples:\n"
    "  roost sim list                                      machines, scenarios, kinds of programs\n"
    "  roost sim convoy                                    compare all policies\n"
    "  roost sim convoy --machine mn5-112 --repeat 5       on another machine, with five seeds\n"
    "  roost sim show vm-2 > mine.toml                     a machine to change\n"
    "  roost sim calibrate --out mine.toml                 this machine, measured\n"
    "  roost sim my.toml --machine ./mine.toml --trace t   look at t in ui.perfetto.dev";

// Ends the command at an option that is of no use here.
void refuse_options(const SimOptions& options, std::initializer_list<const char*> but) {
  for (const std::string& given : options.given) {
    if (std::find(but.begin(), but.end(), given) != but.end()) continue;
    die(kWrongUsage, "roost sim {} takes no {}; see roost sim --help", options.words[0], given);
  }
}

int act(const SimOptions& options) {
  if (options.words.empty())
    die(kWrongUsage, "a scenario is missing; roost sim list names those that come with Roost");
  try {
    if (options.words[0] == "list" && options.words.size() == 1) {
      refuse_options(options, {});
      return sim_list();
    }
    if (options.words[0] == "calibrate") {
      refuse_options(options, {"--out", "--quick", "--probe"});
      if (options.words.size() == 1) return sim_calibrate(options);
      die(kWrongUsage, "roost sim calibrate takes no '{}'; --out names the file", options.words[1]);
    }
    if (!options.out.empty() || options.quick)
      die(kWrongUsage, "--out and --quick belong to roost sim calibrate");
    if (options.words[0] == "show") {
      refuse_options(options, {});
      if (options.words.size() == 2) return sim_show(options.words[1]);
      die(kWrongUsage, "roost sim show takes the name of one machine or scenario");
    }
    if (options.words.size() > 1)
      die(kWrongUsage, "'{}' is one word too many; see roost sim --help", options.words[1]);
    return sim_compare(options);
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
  auto options = std::make_shared<SimOptions>();
  CLI::App* verb = app.add_subcommand("sim", "Simulate a scenario on a machine you do not have");
  verb->add_option("scenario", options->words, "A scenario; or: list, show NAME, calibrate");
  verb->add_option("--machine", options->machine, "Run on this machine instead of the scenario's");
  verb->add_option("--policy", options->policies, "Compare only these (may be repeated)")
      ->allow_extra_args(false);
  verb->add_option("--seed", options->seed, "Seed of the first run (default 1)")
      ->check([](const std::string& text) -> std::string {
        return parse_number<std::uint64_t>(text) ? "" : "it takes a number of 64 bits";
      });
  verb->add_option("--repeat", options->repeat, "Runs of each policy, with seeds that follow")
      ->check(CLI::Range(1, 10'000));
  verb->add_option("--set", options->set, "Set a parameter of a policy: NAME=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--json", options->json, "Write all figures to a file; - is standard output");
  verb->add_option("--trace", options->trace, "Write a trace for ui.perfetto.dev");
  verb->add_flag("--check", options->check, "Run under the checkers, at half the speed");
  verb->add_option("--out", options->out, "calibrate: write the machine to this file");
  verb->add_flag("--quick", options->quick, "calibrate: in a few seconds, less exact");
  verb->add_flag("--probe", options->probe)->group("");  // not for users
  verb->footer(kSimHelp);
  return {verb, [options, verb] {
            for (const CLI::Option* option : verb->get_options())
              if (option->count() > 0 && option->nonpositional())
                options->given.push_back(option->get_name());
            return act(*options);
          }};
}

}  // namespace roost::cli
