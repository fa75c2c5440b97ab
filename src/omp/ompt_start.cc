// Finding a tool, and leaving it.
//
// The tool is looked for when the runtime is first used, since that is the last moment at which it
// can see every event, and the first at which all of the program's libraries are there.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/text.h"
#include "omp/ompt_callbacks.h"
#include "omp/root.h"
#include "ult/in_use.h"
#include "ult/kernel.h"

// Of the program or a library it is linked with. The reference has the linker export a program's.
extern "C" __attribute__((weak)) void* ompt_start_tool(unsigned version, const char* runtime);

namespace roost::omp::ompt {

constinit std::atomic<std::uint8_t> activity{kUnknown};
constinit std::atomic<AnyFunction> callbacks[kLastEvent + 1] = {};

namespace {

constexpr unsigned kOpenMp52 = 202111;
constexpr const char* kRuntime = "Roost OpenMP";

constinit StartToolResult* the_tool = nullptr;
// The thread that looks for the tool: the tool may ask the runtime something meanwhile.
constinit thread_local bool looking = false;

// Where OMP_TOOL_VERBOSE_INIT wants to be told what happens; nowhere if it says so. In libomp's
// words, which people and tests look for.
class Log {
 public:
  explicit Log(const char* where) {
    if (!where || strcmp(where, "disabled") == 0) return;
    if (strcmp(where, "stdout") == 0) {
      output_ = true;
    } else if (strcmp(where, "stderr") == 0) {
      file_ = STDERR_FILENO;
    } else {
      file_ = open(where, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      opened_ = file_ >= 0;
    }
    say("----- START LOGGING OF TOOL REGISTRATION -----\n");
  }
  ~Log() {
    say("----- END LOGGING OF TOOL REGISTRATION -----\n");
    if (opened_) close(file_);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  template <class... Part>
  void say(const Part&... parts) const {
    if (file_ < 0 && !output_) return;
    Text<4096> text;
    (text << ... << parts);
    if (output_) {
      fwrite(text.c_str(), 1, text.length(), stdout);  // between what the tool prints
      return;
    }
    // A log that cannot be written is no reason to stop.
    // NOLINTNEXTLINE(bugprone-unused-return-value)
    [[maybe_unused]] ssize_t written = write(file_, text.c_str(), text.length());
  }
  void failed() const {
    const char* why = dlerror();
    say("Failed: ", why ? why : "ompt_start_tool = NULL", "\n");
  }

 private:
  int file_ = -1;
  bool output_ = false;  // standard output
  bool opened_ = false;
};

StartToolResult* ask(void* function) {
  return reinterpret_cast<StartTool>(function)(kOpenMp52, kRuntime);
}

// The program's, or that of a library it is linked with, or has opened since. Programs that have
// loaded libomp have its own, which says that there is none.
StartToolResult* ask_program(const Log& log) {
  log.say("Search for OMP tool in current address space... ");
  auto* function = reinterpret_cast<void*>(ompt_start_tool);
  if (!function) function = dlsym(RTLD_DEFAULT, "ompt_start_tool");
  StartToolResult* result = function ? ask(function) : nullptr;
  log.say(result ? "Success.\n" : "Failed.\n");
  return result;
}

// A library of the list; the first that has a tool stays open.
StartToolResult* ask_library(const char* name, const Log& log) {
  log.say("Opening ", name, "... ");
  void* library = dlopen(name, RTLD_LAZY);
  if (!library) {
    log.failed();
    return nullptr;
  }
  log.say("Success.\nSearching for ompt_start_tool in ", name, "... ");
  StartToolResult* result = nullptr;
  if (void* function = dlsym(library, "ompt_start_tool")) {
    result = ask(function);
    log.say(result ? "Success.\n"
                   : "Found but not using the OMPT interface.\nContinuing search...\n");
  } else {
    log.failed();
  }
  if (!result) dlclose(library);
  return result;
}

StartToolResult* ask_libraries(const char* list, const Log& log) {
  if (!list || !*list) {
    log.say("No OMP_TOOL_LIBRARIES defined.\n");
    return nullptr;
  }
  log.say("Searching tool libraries...\nOMP_TOOL_LIBRARIES = ", list, "\n");
  while (list && *list) {
    const char* end = strchr(list, ':');
    std::size_t length = end ? static_cast<std::size_t>(end - list) : strlen(list);
    Text<4096> name;
    name.append(list, length);
    if (length)
      if (StartToolResult* result = ask_library(name.c_str(), log)) return result;
    list = end ? end + 1 : nullptr;
  }
  return nullptr;
}

StartToolResult* find_tool(const Settings& set) {
  Log log(set.tool_verbose);
  if (!set.tool) {
    log.say("OMP tool disabled.\n");
    return nullptr;
  }
  StartToolResult* tool = ask_program(log);
  if (!tool) {
    tool = ask_libraries(set.tool_libraries, log);
    if (!tool) log.say("...searching tool libraries failed.\n");
  }
  log.say(tool ? "Tool was started and is using the OMPT interface.\n" : "No OMP tool loaded.\n");
  return tool;
}

// True if there is a tool, and it wants to go on.
bool start_tool() {
  StartToolResult* tool = find_tool(settings());
  if (!tool || !tool->initialize || !tool->initialize(look_up, 0, &tool->tool_data)) return false;
  the_tool = tool;
  return true;
}

}  // namespace

bool look_for_tool() {
  std::uint8_t now = activity.load(std::memory_order_acquire);
  if (now == kUnknown) {
    self();
    now = activity.load(std::memory_order_acquire);
  }
  return now == kOn;
}

bool has_tool() { return the_tool != nullptr; }

void start() {
  ult::begin_use();
  std::uint8_t state = kUnknown;
  if (activity.compare_exchange_strong(state, kStarting, std::memory_order_acq_rel)) {
    looking = true;
    ult::kernel::KeepErrno keep;
    bool found = start_tool();
    looking = false;
    tracing = roost_trace_wanted && roost_trace_wanted();
    activity.store(found || tracing ? kOn : kOff, std::memory_order_release);
    return;
  }
  while (state == kStarting && !looking) {
    ult::host::yield();
    state = activity.load(std::memory_order_acquire);
  }
}

void look_again_after_fork() {
  if (activity.load(std::memory_order_relaxed) == kStarting && !looking)
    activity.store(kUnknown, std::memory_order_relaxed);
}

namespace {

// What workers are sent when the tool is left: a call each, for its event.
struct Farewell : ult::Batch {
  std::atomic<unsigned> made{0};
};
constinit Farewell farewell;

void end_worker(ult::Batch*, unsigned) {
  thread_leaves();
  farewell.made.fetch_add(1, std::memory_order_release);
}

// In turn, as each has nothing else to do. Those that are in a region, because the process exits
// there, and those that get no core for long, end without the event.
void end_workers() {
  constexpr unsigned kLooks = 500;
  constexpr long kBetween = 100'000;  // ns
  if (!callback<ThreadEnd>(Event::thread_end)) return;
  farewell.run = end_worker;
  unsigned workers = ult::ensure_workers(0);
  unsigned sent = 0;
  for (unsigned looks = 0; looks < kLooks; ++looks) {
    while (sent < workers && ult::send(sent, farewell, 0, true)) ++sent;
    if (farewell.made.load(std::memory_order_acquire) == workers) return;
    timespec time{0, kBetween};
    nanosleep(&time, nullptr);
  }
}

}  // namespace

void finalize_tool() {
  if (activity.load(std::memory_order_acquire) == kOn) end_workers();
  if (activity.load(std::memory_order_acquire) == kOn && ult::here.carrier &&
      ult::here.carrier->user) {
    thread_ends(static_cast<Root*>(ult::here.carrier->user)->member);
  }
  std::uint8_t state = kOn;
  if (!activity.compare_exchange_strong(state, kOff, std::memory_order_acq_rel)) return;
  if (the_tool && the_tool->finalize) the_tool->finalize(&the_tool->tool_data);
}

namespace {

// After the program's own exit handlers and destructors, which may open regions.
__attribute__((destructor)) void leave_tool() { finalize_tool(); }

}  // namespace
}  // namespace roost::omp::ompt
