// Reads scenarios and turns them into programs.
#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/shipped.h"
#include "sim/toml_reader.h"

namespace roost::sim {
namespace {

constexpr std::int64_t kMostThreads = 100'000;

std::vector<std::pair<std::string, std::uint32_t>> read_barriers(
    TomlReader reader, const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::uint32_t>> barriers;
  for (const std::string& name : names)
    barriers.emplace_back(name, static_cast<std::uint32_t>(reader.integer(name, 1, kMostThreads)));
  reader.finish();
  return barriers;
}

ScriptText read_script(TomlReader& reader, const std::string& file, unsigned line) {
  ScriptText script;
  script.name = reader.text("name");
  script.steps = reader.texts("steps");
  script.start = static_cast<std::uint32_t>(reader.integer_or("start", 0, 0, kMostThreads));
  script.daemon = reader.flag_or("daemon", false);
  script.place = fmt::format("{}:{}", file, line);
  reader.finish();
  return script;
}

ProgramText read_program(TomlReader reader) {
  ProgramText program;
  std::vector<std::string_view> kinds{"script"};
  for (const Generator& generator : generators()) kinds.emplace_back(generator.kind);
  int kind = reader.choice("kind", kinds);
  program.kind = kinds[static_cast<std::size_t>(kind)];
  program.processes = static_cast<unsigned>(reader.integer_or("processes", 1, 1, 256));
  program.starts_at =
      static_cast<Nanoseconds>(reader.integer_or("starts_at_ns", 0, 0, 1'000'000'000'000));
  program.working_set_kib =
      static_cast<std::uint32_t>(reader.integer_or("working_set_kib", 0, 0, 1'000'000));
  program.traps = reader.flag_or("traps", false);
  if (kind > 0) {
    program.generator = &generators()[static_cast<std::size_t>(kind - 1)];
    for (const GeneratorKey& key : program.generator->keys) {
      program.settings.set(
          key.name, key.standard < 0
                        ? reader.integer(key.name, key.least, key.greatest)
                        : reader.integer_or(key.name, key.standard, key.least, key.greatest));
    }
    reader.finish();
    return program;
  }
  for (TomlReader& script : reader.tables("script"))
    program.scripts.push_back(read_script(script, reader.file(), script.line()));
  if (program.scripts.empty())
    reader.refuse("script", "tables, each begun with [[program.script]]");
  TomlReader barriers = reader.table("barriers");
  program.barriers = read_barriers(barriers, barriers.keys());
  reader.finish();
  return program;
}

}  // namespace

std::uint64_t Settings::operator[](std::string_view name) const {
  for (const Value& value : values_) {
    if (name == value.name) return static_cast<std::uint64_t>(value.value);
  }
  throw std::logic_error("a generator asks for a key it has not declared: " + std::string(name));
}

Scenario parse_scenario(std::string_view text, const std::string& file) {
  toml::table table = parse_toml(text, file);
  TomlReader reader(table, file);
  Scenario scenario;
  scenario.name = reader.text("name");
  scenario.summary = reader.text("summary");
  scenario.machine = reader.text_or("machine", "vm-2");
  scenario.governor =
      static_cast<Governor>(reader.choice("governor", {"performance", "schedutil"}, 1));
  scenario.time_limit =
      static_cast<Nanoseconds>(reader.integer_or("time_limit_ms", 600'000, 1, 86'400'000)) *
      1'000'000;
  scenario.unit = reader.text_or("unit", "unit");
  for (TomlReader& program : reader.tables("program"))
    scenario.programs.push_back(read_program(program));
  if (scenario.programs.empty()) reader.refuse("program", "tables, each begun with [[program]]");
  reader.finish();
  return scenario;
}

Scenario find_scenario(const std::string& name) {
  TomlFile file = find_toml(name, kShippedScenarios, "scenario");
  return parse_scenario(file.text, file.name);
}

Program make_program(const Scenario& scenario, std::uint64_t seed) {
  Program program;
  program.unit = scenario.unit;
  program.processes = 0;
  Random random(seed);
  for (const ProgramText& text : scenario.programs) {
    for (unsigned i = 0; i < text.processes; ++i) {
      if (program.processes >= kMaxProcesses / 2)
        throw InputError(fmt::format("more than {} processes to begin with", kMaxProcesses / 2));
      ProcessIndex process = program.processes++;
      std::size_t first_script = program.scripts.size(), first_start = program.starts.size();
      if (text.generator) {
        text.generator->add(program, process, text.settings, random);
      } else {
        add_scripts(program, process, text);
      }
      for (std::size_t s = first_script; s < program.scripts.size(); ++s) {
        program.scripts[s].traps |= text.traps;
        program.scripts[s].working_set_kib = text.working_set_kib;
      }
      for (std::size_t s = first_start; s < program.starts.size(); ++s)
        program.starts[s].at += text.starts_at;
    }
  }
  std::stable_sort(program.arrivals.begin(), program.arrivals.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  std::string error = program_error(program);
  if (!error.empty()) throw InputError(scenario.name + ": " + error);
  return program;
}

}  // namespace roost::sim
