// The verbs of the command line; each has a file of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

// Not CLI11 itself: it takes ten seconds to compile wherever it is used.
namespace CLI {
class App;
}

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

// What verbs without options of their own, or with --json alone, are added with (command_line.cc).
Verb add_plain(CLI::App&, const char* name, const char* about, const char* help,
               std::function<int()> act);
Verb add_with_json(CLI::App&, const char* name, const char* about, const char* help,
                   std::function<int(bool json)> act);

}  // namespace roost::cli
