// A scenario: which programs run together, on which machine by default. Read from TOML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/machine.h"
#include "sim/program.h"
#include "sim/random.h"

namespace roost::sim {

// A number of a generator, with its limits.
struct GeneratorKey {
  const char* name;
  std::int64_t standard;  // < 0: must be given
  std::int64_t least;
  std::int64_t greatest;
  const char* summary;
};

// What a [[program]] of a kind asks for, checked.
class Settings {
 public:
  std::uint64_t operator[](std::string_view name) const;
  void set(const char* name, std::int64_t value) { values_.push_back({name, value}); }

 private:
  struct Value {
    const char* name;
    std::int64_t value;
  };
  std::vector<Value> values_;
};

// Puts threads and objects of one process into `program`.
struct Generator {
  const char* kind;
  const char* summary;
  std::vector<GeneratorKey> keys;
  void (*add)(Program& program, ProcessIndex process, const Settings&, Random&);
};
const std::vector<Generator>& generators();

// A thread's script in words, one op a step; docs/user/simulator.md lists them.
struct ScriptText {
  std::string name;
  std::vector<std::string> steps;
  std::string place;        // "FILE:LINE", for messages
  std::uint32_t start = 0;  // threads to begin with, in each process
  std::uint32_t working_set_kib = 0;
  bool daemon = false;
};

struct ProgramText {
  std::string kind;
  const Generator* generator = nullptr;  // null: scripts
  Settings settings;
  unsigned processes = 1;
  Nanoseconds starts_at = 0;
  std::uint32_t working_set_kib = 0;
  bool traps = false;
  std::vector<ScriptText> scripts;
  std::vector<std::pair<std::string, std::uint32_t>> barriers;  // of scripts: name, members
};

struct Scenario {
  std::string name;
  std::string summary;
  std::string machine;
  Governor governor = Governor::schedutil;
  Nanoseconds time_limit = 0;
  std::string unit;
  std::vector<ProgramText> programs;
};

Scenario parse_scenario(std::string_view text, const std::string& file);
// By the name of a shipped one, or by path if it has a '/' or ends in .toml.
Scenario find_scenario(const std::string& name_or_path);

// The same for the same seed.
Program make_program(const Scenario&, std::uint64_t seed);

// Adds the scripts of a program written in words to `program`.
void add_scripts(Program& program, ProcessIndex process, const ProgramText&);

}  // namespace roost::sim
