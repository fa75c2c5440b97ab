// The parts of `roost sim`, a file each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roost::cli {

struct SimOptions {
  std::vector<std::string> words = {};
  std::string machine = {};
  std::vector<std::string> policies = {};
  std::uint64_t seed = 1;
  unsigned repeat = 1;
  std::string json = {};
  std::string trace = {};
  std::vector<std::string> set = {};
  bool check = false;
  std::string out = {};  // of calibrate, like the rest
  bool quick = false;
  bool probe = false;                   // a child of calibrate under Roost
  std::vector<std::string> given = {};  // the options that were typed, by their names
};

int sim_list();                         // machines, scenarios, policies, kinds of programs
int sim_show(const std::string& name);  // the text of a shipped machine or scenario
int sim_compare(const SimOptions&);
int sim_calibrate(const SimOptions&);

// Ends the command with kFailed if the file cannot be written; "-" is standard output.
void write_text(const std::string& path, const std::string& text);

}  // namespace roost::cli
