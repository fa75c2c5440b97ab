// Finding a tool, and leaving it.
//
// The tool is looked for when the runtime is first used, since that is the last moment at which it
// can see every event, and the first at which all of the program's libraries are there.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "base/text.h"
#include "omp/ompt_callbacks.h"
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

// Where OMP_TOOL_VERBOSE_INIT wants to be told what happens; -1: nowhere.
class Log {
 public:
  explicit Log(const char* where) {
    if (!where || strcmp(where, "disabled") == 0) return;
    if (strcmp(where, "stdout") == 0) {
      file_ = STDOUT_FILENO;
    } else if (strcmp(where, "stderr") == 0) {
      file_ = STDERR_FILENO;
    } else {
      file_ = open(where, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      opened_ = file_ >= 0;
    }
  }
  ~Log() {
    if (opened_) close(file_);
  }
  void say(const char* what, const char* more = "") const {
    if (file_ < 0) return;
    Text<1024> line("roost: OMPT: ");
    line << what << more << "\n";
    // A log that cannot be written is no reason to stop.
    // NOLINTNEXTLINE(bugprone-unused-return-value)
    [[maybe_unused]] ssize_t written = write(file_, line.c_str(), line.length());
  }

 private:
  int file_ = -1;
  bool opened_ = false;
};

StartToolResult* ask(void* function, const Log& log) {
  auto* result = reinterpret_cast<StartTool>(function)(kOpenMp52, kRuntime);
  log.say(result ? "ompt_start_tool has a tool" : "ompt_start_tool says that there is no tool");
  return result;
}

// A library of the list; the first that has a tool stays open.
StartToolResult* ask_library(const char* name, const Log& log) {
  log.say("opening ", name);
  void* library = dlopen(name, RTLD_LAZY);
  if (!library) {
    const char* why = dlerror();
    log.say("it cannot be opened: ", why ? why : "");
    return nullptr;
  }
  StartToolResult* result = nullptr;
  if (void* function = dlsym(library, "ompt_start_tool")) {
    result = ask(function, log);
  } else {
    log.say("it has no ompt_start_tool");
  }
  if (!result) dlclose(library);
  return result;
}

StartToolResult* ask_libraries(const char* list, const Log& log) {
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

// True if there is a tool, and it wants to go on.
bool find_tool() {
  const Settings& set = settings();
  Log log(set.tool_verbose);
  if (!set.tool) {
    log.say("tools are disabled (OMP_TOOL)");
    return false;
  }
  StartToolResult* tool = nullptr;
  auto* function = reinterpret_cast<void*>(ompt_start_tool);
  if (!function) function = dlsym(RTLD_DEFAULT, "ompt_start_tool");  // opened since
  if (function) {
    log.say("the program or one of its libraries has ompt_start_tool");
    tool = ask(function, log);
  }
  if (!tool) tool = ask_libraries(set.tool_libraries, log);
  if (!tool) {
    log.say("no tool");
    return false;
  }
  if (!tool->initialize || !tool->initialize(look_up, 0, &tool->tool_data)) {
    log.say("the tool does not want to be active");
    return false;
  }
  the_tool = tool;
  log.say("the tool is active");
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
  std::uint8_t state = kUnknown;
  if (activity.compare_exchange_strong(state, kStarting, std::memory_order_acq_rel)) {
    looking = true;
    ult::kernel::KeepErrno keep;
    bool found = find_tool();
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
