// The process that stays while a recorded command runs in a child.
#include "cli/trace_run.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "cli/error.h"
#include "cli/number.h"
#include "cli/output_file.h"
#include "cli/trace_rings.h"
#include "cli/trace_timeline.h"
#include "cli/trace_write.h"
#include "os/sys.h"
#include "trace/ring_file.h"

namespace roost::cli {
namespace {

pid_t child_of_handler;

// What is sent to `roost run` is meant for the command. What a terminal sends both have got.
void pass_on(int signal, siginfo_t* info, void*) {
  if (info->si_code <= 0) kill(child_of_handler, signal);
}

void pass_signals_to(pid_t child) {
  child_of_handler = child;
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

}  // namespace

std::optional<TraceWish> trace_wish(const std::optional<std::string>& file,
                                    const std::optional<std::string>& events) {
  if (!file) {
    if (events) die(kWrongUsage, "--trace-events is of no use without --trace");
    return {};
  }
  if (file->empty()) die(kWrongUsage, "--trace takes the name of the file to write");
  std::uint64_t number = trace::kStandardEvents;
  if (events) {
    // What is no number is too few.
    number = parse_number<std::uint64_t>(*events).value_or(0);
    if (number < trace::kFewestEvents || number > trace::kMostEvents) {
      die(kWrongUsage, "--trace-events takes a number from {} to {}, not '{}'",
          trace::kFewestEvents, trace::kMostEvents, *events);
    }
  }
  return TraceWish{*file, std::bit_ceil(number)};
}

Recording::Recording(TraceWish wish)
    : wish_(std::move(wish)),
      made_(claim_output(wish_.file, kTraceBegins, "trace", "--trace", kCannotRun)) {}

Recording::~Recording() {
  if (made_ && !written_) unlink(wish_.file.c_str());
}

int Recording::run(const std::vector<std::string>& command, const std::function<void()>& become) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  pid_t child = fork();
  if (child < 0) die(kCannotRun, "the command cannot be started: {}", std::strerror(errno));
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    try {
      become();
    } catch (const Failure& failure) {
      say(failure.what());
      _exit(failure.code());
    }
    _exit(kCannotRun);
  }
  pass_signals_to(child);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  signal(SIGXFSZ,
         SIG_IGN);  // a trace that is too large for the user's limit is an error like others
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  written_ = write(command, child);
  return written_ || status ? status : kCannotRun << 8;
}

int end_as(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  int number = WTERMSIG(wait_status);
  rlimit none{};  // a core file would be the wrong one
  setrlimit(RLIMIT_CORE, &none);
  signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
  return 128 + number;
}

bool Recording::write(const std::vector<std::string>& command, int child) const {
  Nanoseconds end = os::now();
  Rings rings = read_rings(folder());
  auto alive = [&](int pid) { return pid == child || kill(pid, 0) == 0; };
  TraceFacts facts;
  for (const std::string& word : command)
    facts.command += (facts.command.empty() ? "" : " ") + word;
  facts.without_room = rings.without_room;
  for (const ThreadTrace& thread : rings.threads) facts.lost += thread.lost;
  if (rings.threads.empty() && !rings.without_room)
    warn("nothing was recorded: no thread of the command was managed");
  if (facts.without_room)
    warn(
        "{} threads were not recorded: there was no room for their rings in /dev/shm, or in "
        "memory, an eighth of which they leave; with fewer --trace-events they are smaller",
        facts.without_room);
  if (facts.lost) {
    warn(
        "the trace has the last {} events of each thread; {} earlier ones are not in it "
        "(--trace-events)",
        wish_.events, facts.lost);
  }
  std::ofstream out(wish_.file, std::ios::trunc | std::ios::binary);
  if (out) write_trace(out, build_timeline(rings, end, alive), facts);
  out.close();
  if (out) return true;
  int error = errno;
  warn("the trace '{}' could not be written: {}", wish_.file, std::strerror(error));
  if (!made_ && truncate(wish_.file.c_str(), 0) != 0) unlink(wish_.file.c_str());
  return false;
}

}  // namespace roost::cli
