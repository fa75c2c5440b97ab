// Checks settings and says what is allowed instead.
#include "cli/settings.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>

#include "base/batch_job.h"
#include "cli/duration.h"
#include "cli/error.h"
#include "cli/number.h"
#include "cli/policy_choice.h"
#include "cli/split.h"
#include "segment/segment.h"

namespace roost::cli {
namespace {

constexpr const char* kSpinModes[] = {"off", "preempt", "rewrite"};
constexpr const char* kTrapModes[] = {"off", "auto", "on"};
constexpr const char* kBlasModes[] = {"keep", "same", "adapt"};
constexpr const char* kOmpModes[] = {"auto", "roost", "host"};

constexpr PolicyParameter kInstanceParameters[] = {
    {"max_threads", "threads",
     "How many managed threads the instance can hold; more run unmanaged.", kDefaultThreads, 1,
     1u << 20},
};

// "one", "one and two", "one, two and three"
std::string enumerate(const std::vector<std::string>& names, const char* last = " and ") {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : last;
    text += names[i];
  }
  return text;
}

std::string parameter_names(const Policy& policy) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < policy.n_parameters; ++i) names.push_back(policy.parameters[i].name);
  for (const PolicyParameter& parameter : kInstanceParameters) names.push_back(parameter.name);
  return enumerate(names);
}

const PolicyParameter& find_allowed(const Policy& policy, const std::string& name) {
  int index = find_parameter(policy, name.c_str());
  if (index >= 0) return policy.parameters[index];
  for (const PolicyParameter& parameter : kInstanceParameters) {
    if (name == parameter.name) return parameter;
  }
  die(kWrongUsage, "policy {} has no parameter '{}'; known: {}", policy.name, name,
      parameter_names(policy));
}

bool is_time(const PolicyParameter& parameter) { return std::strcmp(parameter.unit, "ns") == 0; }
const char* unit_of(const PolicyParameter& parameter) { return is_time(parameter) ? "ns" : ""; }

// `raw`: as settings_environment() writes it, times in nanoseconds.
void apply_list(const std::string& list, Settings& settings, bool raw) {
  for (const auto& [name, value] : split_assignments(list)) {
    const PolicyParameter& parameter = find_allowed(*settings.policy, name);
    settings.parameters[name] =
        parse_parameter(parameter, raw ? value + unit_of(parameter) : value);
  }
}

// The largest of Slurm's counts for the nodes of a job, as in "72(x2),36"; 0 if there is none.
unsigned largest_count(const std::string& counts) {
  unsigned largest = 0;
  for (const std::string& count : split(counts, ','))
    largest =
        std::max(largest, parse_number<unsigned>(count.substr(0, count.find('('))).value_or(0));
  return largest;
}

// Whether a step of a Slurm job has only some of the CPUs that the job has on this node (srun
// --exact). Other steps run beside each other on all of them only if they are asked to (--overlap),
// and then share them.
bool has_cpus_of_its_own(const std::string& in_step, const std::string& in_job) {
  unsigned own = largest_count(in_step);
  return own == 0 || own < largest_count(in_job);
}

std::string choose_instance(const RunOptions& options, const Lookup& lookup) {
  auto variable = [&](const char* name) -> std::string {
    const char* value = lookup(name);
    return value ? value : "";
  };
  std::string name = "default";
  if (options.instance) {
    name = *options.instance;
  } else if (const char* outer = outer_instance(lookup)) {
    name = outer;
  } else if (std::string job = variable("SLURM_JOB_ID"); !job.empty()) {
    std::string step = variable("SLURM_STEP_ID");
    bool apart = !step.empty() && has_cpus_of_its_own(variable("SLURM_CPUS_ON_NODE"),
                                                      variable("SLURM_JOB_CPUS_PER_NODE"));
    name = "slurm-" + job + (apart ? "." + step : "");
  } else if (std::string other = job_of(lookup); !other.empty()) {
    // As in 4711.server, 4711[3].server or 4711.server:15001.
    std::string index = index_in_array(lookup);
    name = "job-" + other + (index.empty() ? "" : "." + index);
    auto fits = [](unsigned char c) { return std::isalnum(c) || std::strchr("._-", c); };
    std::replace_if(name.begin(), name.end(), std::not_fn(fits), '_');
    name.resize(std::min(name.size(), std::size_t{kInstanceNameBytes - 1}));
  }
  check_instance_name(name);
  return name;
}

unsigned parse_cores(const char* whose, const std::string& text) {
  std::optional<unsigned> cores = parse_number<unsigned>(text);
  bool is_list = text.find_first_of(",-") != std::string::npos && text[0] != '-';
  if (!cores || *cores == 0)
    die(kWrongUsage, "{} takes a number of cores, 1 or more, not '{}'{}", whose, text,
        is_list ? "; --cpus takes a list" : "");
  return *cores;
}

// What `whose`, an option or a variable, has is one of these words, or nothing.
void check_choice(const char* whose, const std::optional<std::string>& text,
                  std::span<const char* const> words) {
  if (!text || std::find(words.begin(), words.end(), *text) != words.end()) return;
  die(kWrongUsage, "{} takes {}, not '{}'", whose, enumerate({words.begin(), words.end()}, " or "),
      *text);
}

}  // namespace

const char* outer_instance(const Lookup& lookup) {
  const char* outer = lookup("ROOST_INSTANCE");
  return outer && *outer && !comes_from_another_job(lookup) ? outer : nullptr;
}

void check_instance_name(const std::string& name) {
  char path[kSegmentPathBytes];
  // The segment's own rule, and no leading dot: "." and ".." invite accidents.
  if (!name.starts_with('.') && segment_path(path, 0, name.c_str(), 0) == 0) return;
  die(kWrongUsage,
      "the instance name '{}' is wrong; it has 1 to 63 letters, digits, '.', '_' or '-' and "
      "starts with no '.'",
      name);
}

std::span<const PolicyParameter> instance_parameters() { return kInstanceParameters; }

std::vector<std::pair<std::string, std::string>> split_assignments(const std::string& list) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& text : split(list, ',')) {
    if (text.empty() && !list.empty()) continue;  // a comma too many
    std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      die(kWrongUsage, "--set takes a parameter and its value, as in quantum=20ms, not '{}'", text);
    }
    found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

std::uint64_t parse_parameter(const PolicyParameter& parameter, const std::string& text) {
  std::optional<std::uint64_t> value =
      is_time(parameter) ? parse_duration(text) : parse_number<std::uint64_t>(text);
  if (!value) {
    die(kWrongUsage, "{} cannot be '{}'; write {}", parameter.name, text,
        is_time(parameter) ? "a time with its unit, such as 20ms, 500us or 1s" : "a whole number");
  }
  if (*value < parameter.minimum || *value > parameter.maximum) {
    die(kWrongUsage, "{} cannot be {}; it lies between {} and {}", parameter.name, text,
        format_parameter(parameter, parameter.minimum),
        format_parameter(parameter, parameter.maximum));
  }
  return *value;
}

std::string format_parameter(const PolicyParameter& parameter, std::uint64_t value) {
  return is_time(parameter) ? format_duration(value) : std::to_string(value);
}

Settings resolve_settings(const RunOptions& options, const Lookup& lookup) {
  Settings settings;
  settings.instance = choose_instance(options, lookup);
  const char* outer = lookup("ROOST_INSTANCE");
  bool of_another =
      outer && *outer && (settings.instance != outer || comes_from_another_job(lookup));
  auto inherited = [&](const char* name) -> std::optional<std::string> {
    const char* value = of_another ? nullptr : lookup(name);
    if (!value || !*value) return {};
    return value;
  };

  std::optional<std::string> inherited_policy = inherited("ROOST_POLICY");
  std::optional<std::string> policy = options.policy ? options.policy : inherited_policy;
  settings.policy_given = policy.has_value();
  settings.policy = policy ? &choose_policy(*policy, lookup) : kPolicies[0];

  // Parameters belong to a policy: those inherited for another one mean nothing.
  if (!options.policy || options.policy == inherited_policy ||
      name_for_others(*settings.policy) == inherited_policy) {
    if (auto list = inherited("ROOST_SET")) apply_list(*list, settings, true);
    if (auto quantum = inherited("ROOST_QUANTUM_NS"))
      apply_list("quantum=" + *quantum, settings, true);
  }
  if (options.quantum) {
    const PolicyParameter& quantum = find_allowed(*settings.policy, "quantum");
    if (parse_number<std::uint64_t>(*options.quantum)) {
      die(kWrongUsage, "--quantum takes a time with its unit, such as 20ms, 500us or 1s, not '{}'",
          *options.quantum);
    }
    settings.parameters["quantum"] = parse_parameter(quantum, *options.quantum);
  }
  for (const std::string& typed : options.set) apply_list(typed, settings, false);

  if (options.cpus && options.cores) die(kWrongUsage, "--cpus and --cores exclude each other");
  if (options.cpus || options.cores) {
    settings.cpus = options.cpus;
    if (options.cores) settings.cores = parse_cores("--cores", *options.cores);
  } else {
    settings.cpus = inherited("ROOST_CPUS");
    if (auto cores = inherited("ROOST_CORES"); cores && !settings.cpus)
      settings.cores = parse_cores("ROOST_CORES", *cores);
  }
  auto choose = [&](const char* option, const std::optional<std::string>& typed,
                    const char* variable, std::span<const char* const> words) {
    std::optional<std::string> text = typed ? typed : inherited(variable);
    check_choice(typed ? option : variable, text, words);
    return text;
  };
  settings.pin = choose("--pin", options.pin, "ROOST_PIN", kPinModeNames);
  settings.spin = choose("--spin", options.spin, "ROOST_SPIN", kSpinModes);
  settings.trap = choose("--trap", options.trap, "ROOST_TRAP", kTrapModes);
  settings.blas = choose("--blas", options.blas, "ROOST_BLAS", kBlasModes);
  settings.omp = choose("--omp", options.omp, "ROOST_OMP", kOmpModes);
  settings.stats = options.stats;
  settings.job = job_of(lookup);
  if (const char* index = index_in_array(lookup); *index) (settings.job += kBeforeIndex) += index;
  return settings;
}

Assignments settings_environment(const Settings& settings) {
  Assignments result{{"ROOST_INSTANCE", settings.instance}, {"ROOST_JOB", settings.job}};
  if (settings.policy_given) result.push_back({"ROOST_POLICY", name_for_others(*settings.policy)});
  if (settings.cpus) result.push_back({"ROOST_CPUS", *settings.cpus});
  if (settings.cores) result.push_back({"ROOST_CORES", std::to_string(settings.cores)});
  std::string list;
  for (const auto& [name, value] : settings.parameters) {
    if (name == "quantum") {
      result.push_back({"ROOST_QUANTUM_NS", std::to_string(value)});
    } else {
      list += (list.empty() ? "" : ",") + name + "=" + std::to_string(value);
    }
  }
  if (!list.empty()) result.push_back({"ROOST_SET", list});
  if (settings.pin) result.push_back({"ROOST_PIN", *settings.pin});
  if (settings.spin) result.push_back({"ROOST_SPIN", *settings.spin});
  if (settings.trap) result.push_back({"ROOST_TRAP", *settings.trap});
  if (settings.blas) result.push_back({"ROOST_BLAS", *settings.blas});
  if (settings.omp) result.push_back({"ROOST_OMP", *settings.omp});
  if (settings.stats) result.push_back({"ROOST_STATS", "1"});
  return result;
}

}  // namespace roost::cli
