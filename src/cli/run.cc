// `roost run`: checks, sets the environment and becomes the command.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/bound_rank.h"
#include "cli/clean.h"
#include "cli/error.h"
#include "cli/instance.h"
#include "cli/library.h"
#include "cli/openmp.h"
#include "cli/own_cores.h"
#include "cli/program.h"
#include "cli/settings.h"
#include "cli/shared_memory.h"
#include "cli/trace_run.h"
#include "cli/verbs.h"
#include "cli/wait_policies.h"
#include "os/sys.h"
#include "sched/policy_file.h"
#include "topo/cpulist.h"

namespace roost::cli {
namespace {

constexpr const char* kRunHelp =
    "COMMAND keeps this process: its process ID, exit status and signals are its own. All it "
    "starts\n"
    "belongs to the same instance. The first program of an instance decides its cores and policy.\n"
    "\n"
    "Examples:\n"
    "  roost run python3 train.py\n"
    "      a script whose libraries each start a thread per core\n"
    "  for i in 1 2 3 4; do roost run --stats -- ./solver $i & done; wait\n"
    "      four programs that share all cores, with a summary of each at its end\n"
    "\n"
    "Exit status: that of COMMAND; 127 if there is no such command, 126 if it cannot be executed,\n"
    "2 if an option is wrong, 125 if Roost cannot run here (roost doctor says why).";

// The instance if somebody alive is in it. Ends the command if it exists and cannot be joined.
std::unique_ptr<MappedSegment> living_instance(const std::string& name) {
  if (!os::proc_is_of_own_namespace())
    die(kCannotRun, "instance '{}' cannot be joined: {}", name, segment_error(kSegmentOtherProc));
  std::string path = instance_path(name);
  OpenedInstance opened = open_instance(path, true);
  if (opened.error == -ENOENT) return nullptr;
  // What another version of Roost has left need not be there any longer.
  if (opened.error == kSegmentOtherVersion && clean_segment(path) == 1) return nullptr;
  if (opened.error)
    die(kCannotRun, "instance '{}' cannot be joined: {}", name, instance_error(opened.error));
  if (opened.segment && !segment_in_use(**opened.segment)) return nullptr;
  return std::move(opened.segment);
}

// All that joins an instance must have its policy.
const Policy& require_policy_of(const Segment& segment, const std::string& name) {
  PolicyFileError why;
  const Policy* policy = policy_of_instance(*segment.header, true, why);
  if (!policy) die(kCannotRun, "instance '{}' cannot be joined: {}", name, why.c_str());
  return *policy;
}

// An instance that runs already keeps its cores, policy and parameters: says what was asked in
// vain. `cpus`: that a new one would have.
void warn_of_differences(const Settings& settings, const Segment& segment, const Policy& policy,
                         const std::optional<CpuSet>& cpus) {
  const SegmentHeader& header = *segment.header;
  std::string other;
  auto differs = [&](const std::string& what) { other += (other.empty() ? "" : ", ") + what; };
  if (settings.policy_given && &policy != settings.policy) differs("policy");
  if (settings.cores) {
    if (settings.cores != header.n_cores) differs("number of cores");
  } else if (cpus && *cpus != cpus_of(segment)) {
    differs("CPU list (" + std::string(brief_cpulist(cpus_of(segment)).c_str()) + ")");
  }
  if (settings.pin && *settings.pin != kPinModeNames[static_cast<unsigned>(header.pin_mode)])
    differs("pinning");
  for (const auto& [name, value] : settings.parameters) {
    int index = find_parameter(policy, name.c_str());
    std::uint64_t has = index >= 0 ? header.parameters[index] : header.n_threads;
    if (has != value) differs(name.c_str());
  }
  if (!other.empty()) {
    warn("instance '{}' runs already and keeps its own {}; another --instance could differ",
         settings.instance, other);
  }
}

void require_place_for_a_new_instance(const Settings& settings, unsigned n_cores) {
  auto threads = settings.parameters.find("max_threads");
  std::uint64_t needed =
      bytes_of_instance(n_cores, threads == settings.parameters.end() ? 0 : threads->second);
  SharedMemory memory = look_at_shared_memory(needed);
  if (!memory.problem.empty()) die(kCannotRun, "{}", memory.problem);
}

void note_unmanaged(const MappedSegment* instance, const std::string& path) {
  if (!instance) return;
  SegmentHeader& header = *(*instance)->header;
  std::string name = std::filesystem::path(path).filename().string();
  std::strncpy(header.unmanaged_name, name.c_str(), sizeof header.unmanaged_name - 1);
  header.unmanaged.fetch_add(1, std::memory_order_relaxed);
}

void set_variable(const Assignment& assignment) {
  setenv(assignment.name.c_str(), assignment.value.c_str(), 1);
}

void set_environment(const Settings& settings, const std::string& library, bool may_preload,
                     bool leave) {
  const char* users = std::getenv("LD_PRELOAD");
  std::vector<std::string> own{library};
  if (may_preload && wants_own_openmp(settings.omp, look_up_own))
    own.push_back(openmp_library(library));
  std::string list = may_preload ? preload_list(own, users) : preload_list_without(own, users);
  if (list.empty()) {
    unsetenv("LD_PRELOAD");
  } else {
    set_variable({"LD_PRELOAD", list});
  }
  for (const char* name : kSettingVariables) unsetenv(name);
  for (const Assignment& assignment : settings_environment(settings)) set_variable(assignment);
  if (leave) return;
  for (const Assignment& assignment : passive_waits(look_up_own)) set_variable(assignment);
}

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  int error = errno;
  die(error == ENOENT ? kNotFound : kNotExecutable, "'{}' cannot be executed: {}", command[0],
      std::strerror(error));
}

// How the command ended. What it left behind is removed, be it the last of its instance and killed.
int record(const TraceWish& trace, const std::string& instance,
           const std::vector<std::string>& command) {
  Recording recording(trace);
  set_variable({"ROOST_TRACE", recording.folder()});
  set_variable({"ROOST_TRACE_EVENTS", std::to_string(recording.events())});
  int status = recording.run(command, [&] { become(command); });
  clean_segment(instance_path(instance));
  return status;
}

int run(const RunOptions& options, const std::vector<std::string>& command) {
  if (command.empty())
    die(kWrongUsage, "the command to run is missing, as in: roost run python3 script.py");
  Settings settings = resolve_settings(options, look_up_own);
  std::optional<TraceWish> trace = trace_wish(options.trace, options.trace_events);
  std::string library = find_library(look_up_own);
  std::string path = find_program(command[0], look_up_own);
  ProgramCheck program = check_program(path);

  if (program.may_preload && program.unmanaged.empty())
    if (auto rank = find_bound_rank(look_up_own)) share_cores_of_job(*rank);
  CoreRequest request{settings.cpus ? settings.cpus->c_str() : nullptr, settings.cores};
  SharedMemory memory = look_at_shared_memory(0);
  if (!memory.problem.empty()) die(kCannotRun, "{}", memory.problem);
  std::unique_ptr<MappedSegment> instance = living_instance(settings.instance);
  if (instance) {
    const Policy& policy = require_policy_of(**instance, settings.instance);
    // Within an instance what this process may use is what its program was bound to.
    bool asks = options.cpus || options.cores || !outer_instance(look_up_own);
    std::optional<CpuSet> cpus;
    if (asks) cpus = cpus_of(machine_for(request));
    warn_of_differences(settings, **instance, policy, cpus);
  } else {
    clean_left_over_segments();
    require_place_for_a_new_instance(settings, machine_for(request).n_cores);
  }
  if (!program.unmanaged.empty()) {
    warn("{}, so it runs unmanaged", program.unmanaged);
    note_unmanaged(instance.get(), path);
  }
  instance.reset();
  set_environment(settings, library, program.may_preload, options.leave_environment);
  if (!trace) become(command);
  return end_as(record(*trace, settings.instance, command));
}

}  // namespace

Verb add_run(CLI::App& app, const std::vector<std::string>& command) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run a command, and all it starts, under Roost");
  auto text = [&](const char* name, std::optional<std::string>& value, const char* shown,
                  const char* help) {
    verb->add_option_function<std::string>(
            name, [&value](const std::string& typed) { value = typed; }, help)
        ->option_text(shown);
  };
  text("--instance", options->instance, "NAME",
       "Which programs share cores: those of one instance do, others\n"
       "know nothing of each other [the instance around this one; in a\n"
       "batch job, one for the job, or its step; else 'default']");
  text("--policy", options->policy, "NAME|PATH",
       "How threads are scheduled; roost policies lists them, and a path\n"
       "with a '/' names a policy of your own [coop]");
  text("--cpus", options->cpus, "LIST",
       "Use these CPUs, as in 0-3,8 [all this process may use, but no\nmore than its CPU quota]");
  text("--cores", options->cores, "N", "Use N cores, close to each other");
  text("--quantum", options->quantum, "TIME",
       "How long one process may keep a core while others wait for it,\n"
       "as in 20ms, 500us or 1s");
  text("--pin", options->pin, "core|node|none",
       "Where the kernel may run a thread that got a core: on that core,\n"
       "anywhere in its NUMA node, or on any core of the instance [core]");
  text("--spin", options->spin, "MODE",
       "What a thread that waits by spinning does while others could run:\n"
       "'rewrite' makes its loop yield, 'preempt' takes its core now and\n"
       "then, 'off' leaves it alone [rewrite]");
  verb->add_option_function<std::vector<std::string>>(
          "--set", [options](const std::vector<std::string>& typed) { options->set = typed; },
          "Set a parameter of the policy; may be repeated")
      ->option_text("PARAM=VALUE")
      ->type_size(1)
      ->expected(1)
      ->take_all();
  text("--trap", options->trap, "off|auto|on",
       "Whether system calls that libraries make without libc are\n"
       "trapped, so that threads that wait by them give up their core\n"
       "[auto: where such a library is loaded, as libgomp is]");
  text("--blas", options->blas, "keep|same|adapt",
       "Into how many pieces calls of OpenBLAS and BLIS are cut: as many\n"
       "as the program says ('keep'), or no more than there are cores\n"
       "for, so that calls side by side take a core each: where no bit\n"
       "of the results depends on it ('same'), or also\n"
       "where the last bits of sums may differ ('adapt') [same]");
  text("--omp", options->omp, "auto|roost|host",
       "Which OpenMP runtime programs get: Roost's own, in place of\n"
       "libgomp and libomp, or the one they bring; 'auto' takes Roost's\n"
       "unless the environment asks for a device [auto]");
  text("--trace", options->trace, "FILE",
       "Record what the command and all it starts do on the cores, and\n"
       "write it to FILE at its end, for ui.perfetto.dev. The command is\n"
       "then a child of roost run. An earlier trace is replaced, any other\n"
       "file is not");
  text("--trace-events", options->trace_events, "N",
       "Keep the last N events of each thread, of 40 bytes each [16384]");
  verb->add_flag("--stats", options->stats, "When a process ends, print what its threads did");
  verb->add_flag("--no-env", options->leave_environment,
                 "Leave the environment alone: do not ask OpenMP, OpenBLAS and\n"
                 "MPI to wait without spinning");
  verb->footer(kRunHelp);
  return {verb, [options, &command] { return run(*options, command); }};
}

}  // namespace roost::cli
