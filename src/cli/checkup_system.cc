// Doctor's look at kernel, C library and sandbox.
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <utility>

#include "cli/checkup.h"
#include "cli/probes.h"

namespace roost::cli {
namespace {

// "5.15.0-91-generic" is {5, 15}.
std::pair<int, int> version_of(const char* text) {
  int major = 0, minor = 0;
  std::sscanf(text, "%d.%d", &major, &minor);
  return {major, minor};
}

Finding examine_kernel() {
  utsname name;
  uname(&name);
  std::string text = fmt::format("{} {} on {}", name.sysname, name.release, name.machine);
  if (version_of(name.release) < std::pair(5, 3)) {
    return {Level::warn, "kernel", text, "Roost is tested on Linux 5.3 and newer"};
  }
  return {Level::ok, "kernel", text, ""};
}

Finding examine_glibc() {
  const char* version = gnu_get_libc_version();
  if (version_of(version) < std::pair(2, 31)) {
    return {Level::fail, "C library", fmt::format("glibc {}", version),
            "Roost needs glibc 2.31 or newer"};
  }
  return {Level::ok, "C library", fmt::format("glibc {}", version), ""};
}

// The value of a line "name:\tvalue" of a file in /proc; empty if there is none.
std::string proc_value(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, name.size(), name) != 0) continue;
    std::size_t value = line.find_first_not_of(":\t ", name.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return {};
}

Finding judge(const char* topic, Probe probe, const char* since, const char* without) {
  switch (probe) {
    case Probe::works:
      return {Level::ok, topic, "works", ""};
    case Probe::missing:
      return {Level::warn, topic, fmt::format("is not there (it came with Linux {})", since),
              without};
    case Probe::forbidden:
      break;
  }
  return {Level::warn, topic, "is forbidden here, probably by a container's seccomp filter",
          without};
}

Finding examine_sandbox() {
  std::string mode = proc_value("/proc/self/status", "Seccomp");
  if (mode == "2") {
    return {Level::ok, "seccomp",
            "a filter is in force, as in most containers; the lines above say what it leaves", ""};
  }
  return {Level::ok, "seccomp", "no filter", ""};
}

Finding examine_yama() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (!(file >> scope)) return {Level::ok, "yama", "not in this kernel", ""};
  const char* meaning = scope == 0   ? "debuggers may attach to your processes"
                        : scope == 1 ? "debuggers may attach only to what they started"
                                     : "debuggers need privileges";
  return {Level::ok, "yama",
          fmt::format("ptrace_scope {}: {}; Roost does not mind", scope, meaning), ""};
}

Finding examine_affinity_call() {
  Probe probe = probe_affinity();
  if (probe == Probe::works) return {Level::ok, "set affinity", "works", ""};
  return {Level::warn, "set affinity", "is refused",
          "threads will move between cores; permit sched_setaffinity in the container"};
}

}  // namespace

std::vector<Finding> examine_system() {
  return {
      examine_kernel(),
      examine_glibc(),
      judge("pidfd_open", probe_pidfd(), "5.3",
            "the death of a process is noticed a little later; nothing to do"),
      judge("futex_waitv", probe_futex_waitv(), "5.16",
            "Roost does not need it yet; nothing to do"),
      judge("close_range", probe_close_range(), "5.9", "Roost does not need it yet; nothing to do"),
      judge("syscall trap", probe_syscall_user_dispatch(), "5.11",
            "--trap does nothing: waits by inline system calls (libgomp) stay unseen, and the "
            "watchdog covers for them"),
      examine_affinity_call(),
      examine_sandbox(),
      examine_yama()};
}

}  // namespace roost::cli
