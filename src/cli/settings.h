// What `roost run` was asked for, checked: from its options and, below them, from ROOST_*
// variables.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/lookup.h"
#include "policy/policy.h"

namespace roost::cli {

// The options as they were typed.
struct RunOptions {
  std::optional<std::string> instance = {};
  std::optional<std::string> policy = {};
  std::optional<std::string> cpus = {};
  std::optional<std::string> cores = {};
  std::optional<std::string> quantum = {};
  std::optional<std::string> pin = {};
  std::optional<std::string> spin = {};
  std::optional<std::string> trap = {};
  std::optional<std::string> blas = {};
  std::optional<std::string> omp = {};
  std::vector<std::string> set = {};  // "param=value"
  std::optional<std::string> trace = {};
  std::optional<std::string> trace_events = {};
  bool stats = false;
  bool leave_environment = false;
};

struct Settings {
  std::string instance;
  const Policy* policy = nullptr;
  bool policy_given = false;  // by the user, not by default
  std::optional<std::string> cpus;
  unsigned cores = 0;                               // 0: not given
  std::map<std::string, std::uint64_t> parameters;  // those given, of policy and instance
  std::optional<std::string> pin;                   // core, node or none
  std::optional<std::string> spin;                  // off, preempt or rewrite
  std::optional<std::string> trap;                  // "off", "auto" or "on"
  std::optional<std::string> blas;                  // keep or adapt
  std::optional<std::string> omp;                   // auto, roost or host
  bool stats = false;
  std::string job;  // of a batch system's, or empty
};

// The instance that this process was started in, as a variable says; null if none, or if that was
// in another job of a batch system's, from which this one was submitted.
const char* outer_instance(const Lookup&);

// Ends the command with kWrongUsage if no instance can have the name.
void check_instance_name(const std::string& name);

// Parameters that every instance has, whatever its policy.
std::span<const PolicyParameter> instance_parameters();

// Ends the command with kWrongUsage if something is wrong. CPU lists are checked later, against the
// affinity mask. Variables count only if they belong to the instance chosen: those that an outer
// `roost run` left for its own instance are of no use in another.
Settings resolve_settings(const RunOptions&, const Lookup&);

// The variables that hand settings to libroost.so; all others of kSettingVariables must be unset.
Assignments settings_environment(const Settings&);
inline constexpr const char* kSettingVariables[] = {
    "ROOST_INSTANCE", "ROOST_JOB", "ROOST_POLICY", "ROOST_CPUS", "ROOST_CORES", "ROOST_QUANTUM_NS",
    "ROOST_SET",      "ROOST_PIN", "ROOST_SPIN",   "ROOST_TRAP", "ROOST_BLAS",  "ROOST_OMP"};

// The assignments of a --set, "quantum=20ms,max_threads=100", apart: names and values.
std::vector<std::pair<std::string, std::string>> split_assignments(const std::string& list);
// The value of a parameter as people write it, with a unit if it is a time, within its limits.
std::uint64_t parse_parameter(const PolicyParameter&, const std::string& text);
// Value and unit as people read them: "20ms", "14336".
std::string format_parameter(const PolicyParameter&, std::uint64_t value);

}  // namespace roost::cli
