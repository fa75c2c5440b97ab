// Where the options of `roost run` end and the command begins.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace roost::cli {

struct RunCommandLine {
  std::vector<std::string> options;
  std::vector<std::string> command;
};

// The command begins behind "--" or with the first word that is neither an option of `run` nor the
// value of one, so that its own options are never taken for Roost's.
RunCommandLine split_run(const CLI::App& run, const std::vector<std::string>& words);

// Help pages with "-- COMMAND" where a verb takes one, and without CLI11's type names.
class Formatter : public CLI::Formatter {
 public:
  Formatter();
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

}  // namespace roost::cli
