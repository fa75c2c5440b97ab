// Reads the ROOST_* variables that `roost run` sets.
#include "preload/config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "base/batch_job.h"
#include "os/sys.h"
#include "policy/policy.h"
#include "segment/cores.h"
#include "topo/affinity.h"
#include "topo/select.h"
#include "topo/sysfs.h"
#include "trace/recorder.h"

namespace roost {

const char* variable(char** environment, const char* name) {
  std::size_t length = strlen(name);
  for (char** entry = environment; entry && *entry; ++entry) {
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

namespace {

bool variable_is(char** environment, const char* name, const char* wanted) {
  const char* value = variable(environment, name);
  return value && strcmp(value, wanted) == 0;
}

// "name=value,name=value": checked by roost run already; what is not understood keeps its default.
void apply_settings(const Policy& policy, const char* text, SegmentConfig& config) {
  while (text && *text) {
    const char* equals = strchr(text, '=');
    if (!equals) return;
    char name[64] = {};
    std::size_t length = static_cast<std::size_t>(equals - text);
    if (length < sizeof name) {
      memcpy(name, text, length);
      char* end = nullptr;
      std::uint64_t value = strtoull(equals + 1, &end, 10);
      int index = find_parameter(policy, name);
      if (index >= 0) config.parameters[index] = value;
      if (strcmp(name, "max_threads") == 0) config.n_threads = static_cast<std::uint32_t>(value);
    }
    const char* comma = strchr(equals, ',');
    text = comma ? comma + 1 : nullptr;
  }
}

// Beside libroost.so, as in an installation: lib/roost/policies.
const char* installed_policies(PathText& folder) {
  Dl_info own;
  if (!dladdr(reinterpret_cast<const void*>(&installed_policies), &own) || !own.dli_fname)
    return nullptr;
  const char* name = strrchr(own.dli_fname, '/');
  if (!name) return nullptr;
  folder.append(own.dli_fname, static_cast<std::size_t>(name - own.dli_fname));
  folder << "/roost/policies";
  return folder.c_str();
}

// Sets the policy's part of `config`. Null, with why not, if there is no such policy.
const Policy* choose_policy(char** environment, SegmentConfig& config, PolicyFileError& why) {
  const char* name = variable(environment, "ROOST_POLICY");
  const Policy* policy = name && *name ? find_policy(name) : kPolicies[0];
  config.policy_path = nullptr;
  config.policy_hash = 0;
  if (!policy) {
    PathText installed;
    const PolicyFile* file = load_policy_file(
        name, {variable(environment, "ROOST_POLICY_PATH"), installed_policies(installed)}, why);
    if (!file) return nullptr;
    policy = &file->plug_in.policy();
    config.policy_path = file->path;
    config.policy_hash = file->hash;
  }
  config.policy = policy->name;
  config.policy_layout = policy->layout;
  for (unsigned i = 0; i < policy->n_parameters; ++i)
    config.parameters[i] = policy->parameters[i].standard;
  return policy;
}

// Its text lies in the environment that read_config was given, and is used while the process joins,
// not after: runtime.cc keeps the cores, and no choose_cores.
CoreRequest request;

// As `roost run` checked it; should the machine have changed since, all cores of the affinity mask.
void choose_cores(SegmentConfig& config) {
  static constinit Machine machine{};
  CpuSet mask;
  affinity_of(0, mask);
  ErrorText error;
  if (machine_of_instance("", mask, request, machine, error) != 0) {
    machine = {};
    machine_from_sysfs("", mask, machine);
  }
  describe_cores(machine, config);
}

}  // namespace

bool started_by_roost(char** environment) { return variable(environment, "ROOST_INSTANCE"); }

ConfigResult read_config(char** environment, SegmentConfig& config, PolicyFileError& why) {
  const char* instance = variable(environment, "ROOST_INSTANCE");
  auto look_up = [&](const char* name) { return variable(environment, name); };
  // A job that was submitted from under Roost has cores of its own, of which nothing is known.
  if (!instance || comes_from_another_job(look_up)) return ConfigResult::unmanaged;
  config.instance = instance;
  const Policy* policy = choose_policy(environment, config, why);
  if (!policy) return ConfigResult::refused;
  if (const char* quantum = variable(environment, "ROOST_QUANTUM_NS")) {
    int index = find_parameter(*policy, "quantum");
    if (index >= 0) config.parameters[index] = strtoull(quantum, nullptr, 10);
  }
  apply_settings(*policy, variable(environment, "ROOST_SET"), config);
  request.cpus = variable(environment, "ROOST_CPUS");
  const char* cores = variable(environment, "ROOST_CORES");
  request.cores = cores ? static_cast<unsigned>(strtoul(cores, nullptr, 10)) : 0;
  config.choose_cores = choose_cores;
  for (PinMode mode : {PinMode::node, PinMode::none}) {
    if (variable_is(environment, "ROOST_PIN", kPinModeNames[static_cast<unsigned>(mode)]))
      config.pin_mode = mode;
  }
  return ConfigResult::managed;
}

SpinMode spin_mode_wanted(char** environment) {
  if (variable_is(environment, "ROOST_SPIN", "off")) return SpinMode::off;
  return variable_is(environment, "ROOST_SPIN", "preempt") ? SpinMode::preempt : SpinMode::rewrite;
}

bool blas_trials_wanted(char** environment) {
  return variable_is(environment, "ROOST_BLAS_TRIALS", "all");
}

BlasMode blas_mode_wanted(char** environment) {
  if (variable_is(environment, "ROOST_BLAS", "keep")) return BlasMode::keep;
  return variable_is(environment, "ROOST_BLAS", "adapt") ? BlasMode::adapt : BlasMode::same;
}

bool stats_wanted(char** environment) { return variable_is(environment, "ROOST_STATS", "1"); }

TrapMode trap_wanted(char** environment) {
  if (variable_is(environment, "ROOST_TRAP", "off")) return TrapMode::off;
  return variable_is(environment, "ROOST_TRAP", "on") ? TrapMode::on : TrapMode::automatic;
}

void configure_trace(char** environment, const char* instance) {
  const char* folder = variable(environment, "ROOST_TRACE");
  const char* events = variable(environment, "ROOST_TRACE_EVENTS");
  if (folder && events) trace::configure(folder, strtoull(events, nullptr, 10), instance);
}

}  // namespace roost
