// Internal control variables (OpenMP 5.2, chapter 2): what decides how regions run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace roost::omp {

// omp_sched_t without the modifier.
enum class Schedule : std::uint8_t { static_ = 1, dynamic = 2, guided = 3, automatic = 4 };

// omp_proc_bind_t (omp/placement.h).
enum class Bind : std::uint8_t { no = 0, yes = 1, primary = 2, close = 3, spread = 4 };

// The variables of a data environment: each task has its own, from the task that created it.
struct Icvs {
  std::int32_t threads = 1;  // nthreads-var, for regions the task opens
  std::int32_t thread_limit = 0x7fff'ffff;
  std::int32_t max_active_levels = 0x7fff'ffff;
  std::int32_t default_device = 0;
  std::int64_t chunk = 0;  // run-sched-var; 0: the schedule's own
  Schedule schedule = Schedule::static_;
  bool monotonic = false;
  bool trapezoidal = false;  // LLVM's kind of that name, which is `guided` here
  bool dynamic = false;      // dyn-var
  Bind bind = Bind::no;
  std::uintptr_t allocator = 1;  // def-allocator-var: omp_default_mem_alloc
};

inline constexpr int kMaxListed = 16;  // values of a list by level, as OMP_NUM_THREADS=8,2

// What the environment said, and what belongs to the process. Constant after the first use of the
// runtime but for what is atomic.
struct Settings {
  Icvs initial;
  std::int32_t threads_by_level[kMaxListed] = {};  // OMP_NUM_THREADS
  int n_threads_by_level = 0;
  Bind bind_by_level[kMaxListed] = {};  // OMP_PROC_BIND
  int n_bind_by_level = 0;
  Bind teams_bind = Bind::spread;      // KMP_TEAMS_PROC_BIND
  std::size_t stack_bytes = 0;         // OMP_STACKSIZE; 0: the system's
  bool cancellation = false;           // OMP_CANCELLATION
  std::int32_t max_task_priority = 0;  // OMP_MAX_TASK_PRIORITY
  enum class Wait : std::uint8_t { unset, active, passive } wait = Wait::unset;
  enum class Offload : std::uint8_t { optional, mandatory, disabled };
  std::atomic<Offload> offload = Offload::optional;                            // OMP_TARGET_OFFLOAD
  enum class Show : std::uint8_t { no, yes, verbose } display_env = Show::no;  // OMP_DISPLAY_ENV
  bool display_settings = false;                                               // KMP_SETTINGS
  bool display_affinity = false;         // OMP_DISPLAY_AFFINITY
  bool warnings = true;                  // KMP_WARNINGS
  bool task_throttling = true;           // KMP_ENABLE_TASK_THROTTLING: queues have a limit
  bool tool = true;                      // OMP_TOOL: one may be active (omp/ompt_start.cc)
  const char* tool_libraries = nullptr;  // OMP_TOOL_LIBRARIES
  const char* tool_verbose = nullptr;    // OMP_TOOL_VERBOSE_INIT
  const char* places = nullptr;          // OMP_PLACES, if it could be read
  // ROOST_OMP_LEVELS: regions nested less deep always run on OS threads. Negative: decided case by
  // case (docs/user/openmp.md).
  std::int32_t os_levels = -1;
};

// How long who waits polls under OMP_WAIT_POLICY=active.
inline constexpr std::uint64_t kActivePatience = 200'000'000;  // ns

// Read from the environment at the first call, which may come before any constructor. Any thread.
const Settings& settings();

// kmp_set_defaults(): sets variables of the environment, given as NAME=VALUE with | between them.
// In time before the first use of the runtime; later, only OMP_TARGET_OFFLOAD and KMP_BLOCKTIME
// have an effect. Not while another thread uses the environment (setenv(3)).
void set_defaults(const char* list, std::size_t length);

// What the environment decides at first and omp_set_num_teams() and omp_set_teams_thread_limit()
// later, for the whole device; 0: nothing.
extern constinit std::atomic<std::int32_t> num_teams;           // OMP_NUM_TEAMS
extern constinit std::atomic<std::int32_t> teams_thread_limit;  // OMP_TEAMS_THREAD_LIMIT

// Prints the variables as OMP_DISPLAY_ENV wants it, on standard error.
void display_environment(bool verbose);
// The same as libomp prints it where KMP_SETTINGS is set, with Roost's own.
void display_settings();

// The child of a fork: nobody else reads the environment now.
void settings_after_fork();

}  // namespace roost::omp
