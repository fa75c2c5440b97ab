// The verbs of the command line; each has a file of its own.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace roost::cli {

struct Verb {
  CLI::App* app;
  std::function<int()> act;  // returns the exit code
};

// `command` is filled before the verb acts: the command line behind run's own options.
Verb add_run(CLI::App&, const std::vector<std::string>& command);
Verb add_ps(CLI::App&);
Verb add_policies(CLI::App&);
Verb add_doctor(CLI::App&);
Verb add_clean(CLI::App&);
Verb add_spin(CLI::App&);
Verb add_sim(CLI::App&);

}  // namespace roost::cli
