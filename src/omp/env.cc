// Reads the environment's variables.
//
// A malformed value is named on standard error and left out. Variables of libomp and libgomp are
// obeyed where this library has their meaning; the others that are set are named once.
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "omp/affinity.h"
#include "omp/allocators.h"
#include "omp/env_parse.h"
#include "omp/icv.h"
#include "ult/carrier.h"
#include "ult/host.h"
#include "ult/in_use.h"
#include "ult/kernel.h"
#include "ult/spin_lock.h"

namespace roost::omp {

constinit std::atomic<std::int32_t> num_teams{0};
constinit std::atomic<std::int32_t> teams_thread_limit{0};

namespace {

constinit Settings the_settings;
constinit std::atomic<bool> read{false};
constinit ult::SpinLock lock;

// ---- Where a value comes from -------------------------------------------------------------------

// Whether `roost run` set the variable itself, for other runtimes (ROOST_WAIT_SET, names separated
// by commas).
bool set_by_roost(const char* name) {
  const char* names = getenv("ROOST_WAIT_SET");
  std::size_t length = strlen(name);
  while (names && *names) {
    if (strncmp(names, name, length) == 0 && (names[length] == ',' || !names[length])) return true;
    names = strchr(names, ',');
    if (names) ++names;
  }
  return false;
}

// Null if it is not set, or empty.
const char* value_of(const char* name) {
  const char* text = getenv(name);
  return text && *text ? text : nullptr;
}

// The variable, or the one for all devices (5.1: NAME_ALL).
const char* value_for_host(const char* name) {
  if (const char* text = value_of(name)) return text;
  Text<64> all(name);
  all << "_ALL";
  return value_of(all.c_str());
}

void complain(const char* name, const char* text, const char* allowed) {
  Text<512> line("roost: ");
  line << name << " is \"";
  line.append(text, 200);
  line << "\", but must be " << allowed << "; the default is used.\n";
  ult::kernel::write_error(line.c_str(), line.length());
}

// Whether the variable is set and parse(its text) accepts it.
template <class Parse>
bool read_text(const char* name, const char* text, const char* allowed, Parse&& parse) {
  if (!text) return false;
  if (parse(text)) return true;
  complain(name, text, allowed);
  return false;
}
template <class Parse>
bool read_value(const char* name, const char* allowed, Parse&& parse) {
  return read_text(name, value_for_host(name), allowed, parse);
}
template <class Number>
bool read_integer(const char* name, std::int64_t low, const char* allowed, Number& number) {
  return read_value(name, allowed, [&](const char* text) {
    std::int64_t value = 0;
    if (!parse::integer(text, low, 0x7fff'ffff, value)) return false;
    number = static_cast<Number>(value);
    return true;
  });
}
bool read_boolean(const char* name, bool& value) {
  return read_value(name, "true or false",
                    [&](const char* text) { return parse::boolean(text, value); });
}

// ---- Groups of variables ------------------------------------------------------------------------

constexpr const char* kPositive = "a positive number";
constexpr const char* kNotNegative = "a number that is not negative";

void read_threads(Settings& set) {
  Icvs& icvs = set.initial;
  read_value("KMP_HW_SUBSET",
             "how many of which kinds to use, with an offset perhaps, like 2s,8c@2,1t, and no more "
             "than there are",
             define_hw_subset);
  icvs.threads = static_cast<std::int32_t>(usable_cores());
  if (read_value("OMP_NUM_THREADS", "positive numbers separated by commas", [&](const char* text) {
        return parse::counts(text, set.threads_by_level, kMaxListed, set.n_threads_by_level);
      })) {
    icvs.threads = set.threads_by_level[0];
  }
  if (!read_integer("OMP_THREAD_LIMIT", 1, kPositive, icvs.thread_limit) &&
      !read_integer("KMP_DEVICE_THREAD_LIMIT", 1, kPositive, icvs.thread_limit)) {
    read_integer("KMP_ALL_THREADS", 1, kPositive, icvs.thread_limit);
  }
  read_value("KMP_LIBRARY", "serial, turnaround or throughput", [&](const char* text) {
    int index = 0;
    if (!parse::word(text, "serial\0turnaround\0throughput\0", index)) return false;
    if (index == 0) icvs.thread_limit = 1;
    return true;
  });
  read_boolean("OMP_DYNAMIC", icvs.dynamic);
  bool nested = true;
  if (read_boolean("OMP_NESTED", nested) && !nested) icvs.max_active_levels = 1;
  read_integer("OMP_MAX_ACTIVE_LEVELS", 0, kNotNegative, icvs.max_active_levels);

  std::int32_t teams = 0;
  std::int32_t limit = 0;
  read_integer("OMP_NUM_TEAMS", 1, kPositive, teams);
  if (!read_integer("OMP_TEAMS_THREAD_LIMIT", 1, kPositive, limit))
    read_integer("KMP_TEAMS_THREAD_LIMIT", 1, kPositive, limit);
  num_teams.store(teams, std::memory_order_relaxed);
  teams_thread_limit.store(limit, std::memory_order_relaxed);

  read_value("ROOST_OMP_LEVELS", "auto or a number that is not negative", [&](const char* text) {
    int index = 0;
    std::int64_t levels = -1;
    if (!parse::word(text, "auto\0", index) && !parse::integer(text, 0, 0x7fff'ffff, levels))
      return false;
    set.os_levels = static_cast<std::int32_t>(levels);
    return true;
  });
}

void read_schedule(Settings& set) {
  read_value("OMP_SCHEDULE",
             "static, dynamic, guided or auto, perhaps with monotonic: or nonmonotonic: before it "
             "and a comma and a positive chunk size behind it",
             [&](const char* text) {
               parse::ScheduleValue value;
               if (!parse::schedule(text, value)) return false;
               set.initial.schedule = value.kind;
               set.initial.monotonic = value.monotonic;
               set.initial.trapezoidal = value.trapezoidal;
               set.initial.chunk = value.chunk;
               return true;
             });
}

// Each of the two has a default if the other is given, as with libgomp and libomp.
void read_places(Settings& set) {
  bool binds =
      read_value("OMP_PROC_BIND", "true, false, or a list of primary, close and spread",
                 [&](const char* text) {
                   return parse::binds(text, set.bind_by_level, kMaxListed, set.n_bind_by_level);
                 });
  if (binds) set.initial.bind = set.bind_by_level[0];
  // Hints, too, but nothing asks for them.
  read_value("GOMP_CPU_AFFINITY", "a list of CPUs like 0 2 4-15:2", parse::is_cpu_affinity);
  read_value("KMP_AFFINITY", "a list like granularity=fine,compact,1,0", parse::is_kmp_affinity);
  const char* places = value_for_host("OMP_PLACES");
  bool right = read_text("OMP_PLACES", places,
                         "threads, cores, ll_caches, numa_domains or sockets, perhaps with a "
                         "number in parentheses, or a list of places like {0,1},{2:4:2} with "
                         "CPUs this process may use",
                         define_places);
  if (places && !binds) set.initial.bind = Bind::yes;
  if (!right) places = parse::nearest_places(places ? places : "cores");
  if (set.initial.bind == Bind::no) {
    forget_places();
  } else if (right || define_places(places)) {
    set.places = places;
  }
  read_value("KMP_TEAMS_PROC_BIND", "primary, close or spread", [&](const char* text) {
    int count = 0;
    Bind bind = Bind::no;
    if (!parse::binds(text, &bind, 1, count) || bind < Bind::primary) return false;
    set.teams_bind = bind;
    return true;
  });
  read_boolean("OMP_DISPLAY_AFFINITY", set.display_affinity);
  affinity_wanted.store(set.display_affinity, std::memory_order_relaxed);
  if (const char* text = value_for_host("OMP_AFFINITY_FORMAT")) set_affinity_format(text);
}

// As an OS thread has it: a member has the same room, whichever of the two it turns out to be. Less
// where the address space is limited, as one that is not used counts there.
std::size_t usual_stack_bytes() {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  std::size_t usual = ult::light_stack_bytes.load(std::memory_order_relaxed);
  std::size_t least = ult::least_light_stack_bytes.load(std::memory_order_relaxed);
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return least;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual;
  return std::clamp(std::size_t{limit.rlim_cur}, least, kMost);
}

void read_stacks(Settings& set) {
  constexpr const char* kSize = "a size like 512, 512K or 4M";
  constexpr struct {
    const char* name;
    std::size_t unit;
  } kVariables[] = {{"OMP_STACKSIZE", 1024}, {"KMP_STACKSIZE", 1}, {"GOMP_STACKSIZE", 1024}};
  for (const auto& variable : kVariables) {
    if (read_value(variable.name, kSize, [&](const char* text) {
          return parse::bytes(text, variable.unit, set.stack_bytes);
        })) {
      break;
    }
  }
  constexpr std::size_t kLeast = 16384;
  std::size_t light = 0;
  read_value("ROOST_OMP_STACKSIZE", kSize,
             [&](const char* text) { return parse::bytes(text, 1024, light); });
  if (light) {
    light = std::max(light, kLeast);
    ult::least_light_stack_bytes.store(light, std::memory_order_relaxed);
  } else {
    light = std::max(usual_stack_bytes(), set.stack_bytes);
    if (set.stack_bytes > ult::least_light_stack_bytes.load(std::memory_order_relaxed))
      ult::least_light_stack_bytes.store(set.stack_bytes, std::memory_order_relaxed);
  }
  ult::light_stack_bytes.store(light, std::memory_order_relaxed);
  if (set.stack_bytes)
    ult::worker_stack_bytes.store(std::max(set.stack_bytes, kLeast), std::memory_order_relaxed);
}

const char* wait_value(const char* name) { return set_by_roost(name) ? nullptr : value_of(name); }
void set_limit(std::int64_t limit) {
  ult::patience_limit.store(static_cast<Nanoseconds>(limit), std::memory_order_relaxed);
}
bool read_blocktime() {
  std::int64_t blocktime = 0;
  bool said = read_text("KMP_BLOCKTIME", wait_value("KMP_BLOCKTIME"), "milliseconds, or infinite",
                        [&](const char* text) { return parse::duration(text, blocktime); });
  if (said) set_limit(blocktime);
  return said;
}

void read_waiting(Settings& set) {
  // A number of turns of a loop we do not have; zero is clear.
  std::int64_t turns = 1;
  read_text("GOMP_SPINCOUNT", wait_value("GOMP_SPINCOUNT"),
            "a number like 0, 30000 or 3M, or infinite",
            [&](const char* text) { return parse::turns(text, turns); });
  if (!read_blocktime() && turns == 0) set_limit(0);
  read_text("OMP_WAIT_POLICY", wait_value("OMP_WAIT_POLICY"), "active or passive",
            [&](const char* text) {
              int index = 0;
              if (!parse::word(text, "active\0passive\0", index)) return false;
              set.wait = index == 0 ? Settings::Wait::active : Settings::Wait::passive;
              // How long is said more exactly by KMP_BLOCKTIME.
              if (!wait_value("KMP_BLOCKTIME")) set_limit(index == 0 ? kActivePatience : 0);
              return true;
            });
}

void read_offload(Settings& set) {
  auto offload = Settings::Offload::optional;
  read_value("OMP_TARGET_OFFLOAD", "mandatory, disabled or default", [&](const char* text) {
    int index = 0;
    if (!parse::word(text, "default\0mandatory\0disabled\0", index)) return false;
    offload = static_cast<Settings::Offload>(index);
    return true;
  });
  set.offload.store(offload, std::memory_order_relaxed);
}

void read_rest(Settings& set) {
  read_boolean("OMP_CANCELLATION", set.cancellation);
  read_integer("OMP_DEFAULT_DEVICE", 0, kNotNegative, set.initial.default_device);
  read_integer("OMP_MAX_TASK_PRIORITY", 0, kNotNegative, set.max_task_priority);
  read_boolean("KMP_ENABLE_TASK_THROTTLING", set.task_throttling);
  read_offload(set);
  // The host is no device to offload to, until the program says so.
  constexpr std::int32_t kInvalidDevice = -4;  // omp_invalid_device
  if (set.offload.load(std::memory_order_relaxed) == Settings::Offload::mandatory)
    set.initial.default_device = kInvalidDevice;
  read_value("OMP_DISPLAY_ENV", "true, false or verbose", [&](const char* text) {
    int index = 0;
    bool show = false;
    if (parse::word(text, "verbose\0", index)) {
      set.display_env = Settings::Show::verbose;
    } else if (parse::boolean(text, show)) {
      set.display_env = show ? Settings::Show::yes : Settings::Show::no;
    } else {
      return false;
    }
    return true;
  });
  read_value("OMP_ALLOCATOR", "the name of an allocator, or of a memory space with traits",
             [&](const char* text) {
               parse::AllocatorValue value;
               if (!parse::allocator(text, value)) return false;
               AllocatorHandle made = value.allocator ? value.allocator : make_allocator(value);
               if (made) set.initial.allocator = made;
               return made != 0;
             });
  read_value("OMP_TOOL", "enabled or disabled", [&](const char* text) {
    int index = 0;
    if (!parse::word(text, "enabled\0disabled\0", index)) return false;
    set.tool = index == 0;
    return true;
  });
  set.tool_libraries = value_of("OMP_TOOL_LIBRARIES");
  set.tool_verbose = value_of("OMP_TOOL_VERBOSE_INIT");
  read_value("OMP_DEBUG", "enabled or disabled", [](const char* text) {
    int index = 0;
    return parse::word(text, "enabled\0disabled\0", index);
  });
  read_boolean("KMP_SETTINGS", set.display_settings);
}

// ---- Variables of other runtimes ----------------------------------------------------------------

// Obeyed above, or hints about what does not exist here (pools of hot teams, binding) so that
// leaving them out changes no result.
constexpr const char* kKnown[] = {"KMP_BLOCKTIME",
                                  "KMP_STACKSIZE",
                                  "KMP_ENABLE_TASK_THROTTLING",
                                  "KMP_ALL_THREADS",
                                  "KMP_DEVICE_THREAD_LIMIT",
                                  "KMP_TEAMS_THREAD_LIMIT",
                                  "KMP_WARNINGS",
                                  "KMP_SETTINGS",
                                  "KMP_AFFINITY",
                                  "KMP_HW_SUBSET",
                                  "KMP_TEAMS_PROC_BIND",
                                  "KMP_HOT_TEAMS_MODE",
                                  "KMP_HOT_TEAMS_MAX_LEVEL",
                                  "KMP_DUPLICATE_LIB_OK",
                                  "KMP_INIT_AT_FORK",
                                  "KMP_TOPOLOGY_METHOD",
                                  "KMP_LIBRARY",
                                  "KMP_PLAIN_BARRIER",
                                  "KMP_FORKJOIN_BARRIER",
                                  "KMP_REDUCTION_BARRIER",
                                  "KMP_PLAIN_BARRIER_PATTERN",
                                  "KMP_FORKJOIN_BARRIER_PATTERN",
                                  "KMP_REDUCTION_BARRIER_PATTERN",
                                  "KMP_LOCK_KIND",
                                  "KMP_DISP_NUM_BUFFERS",
                                  "GOMP_STACKSIZE",
                                  "GOMP_SPINCOUNT",
                                  "GOMP_CPU_AFFINITY",
                                  "GOMP_RTEMS_THREAD_POOLS",
                                  "GOMP_DEBUG"};

bool known(const char* variable) {
  for (const char* name : kKnown) {
    std::size_t length = strlen(name);
    if (strncmp(variable, name, length) == 0 && variable[length] == '=') return true;
  }
  return false;
}

void name_unknown(const Settings& set) {
  if (!set.warnings) return;
  Text<1024> line("roost: the OpenMP library does not know these variables, which are set: ");
  bool any = false;
  for (char** variable = environ; variable && *variable; ++variable) {
    if (strncmp(*variable, "KMP_", 4) != 0 && strncmp(*variable, "GOMP_", 5) != 0) continue;
    const char* end = strchr(*variable, '=');
    if (!end || known(*variable)) continue;
    if (any) line << ", ";
    any = true;
    line.append(*variable, static_cast<std::size_t>(end - *variable));
  }
  if (!any) return;
  line << " (KMP_WARNINGS=0 silences this)\n";
  ult::kernel::write_error(line.c_str(), line.length());
}

void read_all(Settings& set) {
  read_boolean("KMP_WARNINGS", set.warnings);
  read_threads(set);
  read_schedule(set);
  read_places(set);
  read_stacks(set);
  read_waiting(set);
  read_rest(set);
  name_unknown(set);
}

}  // namespace

const Settings& settings() {
  if (read.load(std::memory_order_acquire)) return the_settings;
  ult::begin_use();
  bool first = false;
  {
    ult::SpinGuard guard(lock);
    if (!read.load(std::memory_order_relaxed)) {
      read_all(the_settings);
      read.store(true, std::memory_order_release);
      first = true;
    }
  }
  if (first) {
    if (the_settings.display_env != Settings::Show::no)
      display_environment(the_settings.display_env == Settings::Show::verbose);
    if (the_settings.display_settings) display_settings();
  }
  return the_settings;
}

void set_defaults(const char* list, std::size_t length) {
  ult::SpinGuard guard(lock);
  while (length) {
    const void* bar = memchr(list, '|', length);
    std::size_t piece =
        bar ? static_cast<std::size_t>(static_cast<const char*>(bar) - list) : length;
    Text<512> name, value;
    if (const void* equals = memchr(list, '=', piece)) {
      auto before = static_cast<std::size_t>(static_cast<const char*>(equals) - list);
      name.append(list, before);
      value.append(list + before + 1, piece - before - 1);
      setenv(name.c_str(), value.c_str(), 1);
    }
    piece += bar != nullptr;
    list += piece;
    length -= piece;
  }
  if (!read.load(std::memory_order_relaxed)) return;
  read_offload(the_settings);
  read_blocktime();
}

void settings_after_fork() { lock.release(); }

}  // namespace roost::omp
