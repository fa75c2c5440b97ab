// Reads what proc(5) says of processes and threads, without libc's stdio or the heap.
#include <errno.h>
#include <sys/prctl.h>

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "os/file.h"
#include "os/sys.h"

namespace roost::os {
namespace {

// The text behind the command name, which may itself hold spaces and brackets: "S 1 2 ...".
const char* after_name(const char* stat) {
  const char* end = std::strrchr(stat, ')');
  return end && end[1] == ' ' ? end + 2 : nullptr;
}

// Field `index` (1-based, from the state letter on) of a stat file.
const char* stat_field(const char* stat, int index) {
  const char* field = after_name(stat);
  for (int i = 1; field && i < index; ++i) {
    field = std::strchr(field, ' ');
    if (field) ++field;
  }
  return field;
}

// The same as a number; 0 if there is none.
std::uint64_t stat_number(const char* stat, int index) {
  const char* field = stat_field(stat, index);
  std::uint64_t value = 0;
  while (field && *field >= '0' && *field <= '9') {
    value = value * 10 + static_cast<unsigned>(*field++ - '0');
  }
  return value;
}

constexpr int kParent = 2, kThreadCount = 18, kStartTime = 20;

// A file of a process or, if `tid` is not 0, of a thread.
long read_file(pid_t pid, pid_t tid, const char* file, char* text, std::size_t capacity) {
  Text<64> path("/proc/");
  path << static_cast<unsigned>(pid);
  if (tid) path << "/task/" << static_cast<unsigned>(tid);
  path << '/' << file;
  return read_text(path.c_str(), text, capacity);
}
long read_stat(pid_t pid, pid_t tid, char* text, std::size_t capacity) {
  return read_file(pid, tid, "stat", text, capacity);
}

// Entries of proc(5)'s environ end with a null byte.
bool was_executed_with(pid_t pid, const char* variable) {
  Text<64> path("/proc/");
  path << static_cast<unsigned>(pid) << "/environ";
  LineReader environment(path.c_str(), '\0');
  std::size_t length = std::strlen(variable);
  while (const char* entry = environment.next())
    if (std::strncmp(entry, variable, length) == 0 && entry[length] == '=') return true;
  return false;
}

// A mask of signals from a status file of proc(5). False if there is none.
bool status_mask(const char* path, const char* key, std::uint64_t& mask) {
  LineReader status(path);
  std::size_t length = std::strlen(key);
  while (const char* line = status.next()) {
    if (std::strncmp(line, key, length) != 0) continue;
    mask = std::strtoull(line + length, nullptr, 16);
    return true;
  }
  return false;
}

}  // namespace

std::uint64_t process_start_time(pid_t pid, char (*name)[kProcessNameBytes]) {
  char text[1024];
  if (name) memset(*name, 0, sizeof *name);
  if (read_stat(pid, 0, text, sizeof text) <= 0) return 0;
  const char* begin = std::strchr(text, '(');
  const char* behind = after_name(text);
  if (name && begin && behind) {
    constexpr std::size_t kAround = 3;  // brackets and a space
    std::size_t length = static_cast<std::size_t>(behind - begin) - kAround;
    memcpy(*name, begin + 1, length < sizeof *name ? length : sizeof *name - 1);
  }
  return stat_number(text, kStartTime);
}

std::uint64_t start_time_between(Nanoseconds before, Nanoseconds after) {
  constexpr Nanoseconds kTick = 10'000'000;
  return before / kTick == after / kTick ? before / kTick : 0;
}

void own_name(char (&name)[kProcessNameBytes]) {
  memset(name, 0, sizeof name);
  raw_syscall(SYS_prctl, PR_GET_NAME, arg(name));
}

pid_t parent_of(pid_t pid) {
  char text[1024];
  if (read_stat(pid, 0, text, sizeof text) <= 0) return 0;
  return static_cast<pid_t>(stat_number(text, kParent));
}

pid_t ancestor_without(pid_t pid, const char* variable) {
  do {
    pid = parent_of(pid);
  } while (pid > 1 && was_executed_with(pid, variable));
  return pid > 1 ? pid : 0;
}

char thread_run_state(pid_t pid, pid_t tid) {
  char text[1024];
  if (read_stat(pid, tid, text, sizeof text) <= 0) return 0;
  const char* field = after_name(text);
  return field ? *field : 0;
}

bool run_delay(pid_t pid, pid_t tid, RunDelay& delay) {
  char text[128];
  if (read_file(pid, tid, "schedstat", text, sizeof text) <= 0) return false;
  char* rest = text;
  std::strtoull(rest, &rest, 10);  // time on a CPU
  delay.waited = std::strtoull(rest, &rest, 10);
  delay.runs = std::strtoull(rest, nullptr, 10);
  return true;
}

std::uint64_t busy_ticks(unsigned cpu) {
  Text<16> name("cpu");
  name << cpu << ' ';
  LineReader stat("/proc/stat");
  while (const char* line = stat.next()) {
    if (std::strncmp(line, "cpu", 3) != 0) return 0;
    if (std::strncmp(line, name.c_str(), name.length()) != 0) continue;
    char* rest = const_cast<char*>(line) + name.length();
    std::uint64_t busy = 0;
    constexpr int kIdle = 3, kIoWait = 4, kFields = 7;  // up to softirq; others' steal is not ours
    for (int field = 0; field < kFields; ++field) {
      std::uint64_t ticks = std::strtoull(rest, &rest, 10);
      if (field != kIdle && field != kIoWait) busy += ticks;
    }
    return busy;
  }
  return 0;
}

std::uint64_t own_pending_signals() {
  std::uint64_t pending = 0;
  status_mask("/proc/thread-self/status", "SigPnd:\t", pending);
  return pending;
}

bool signal_blocked(pid_t pid, pid_t tid, int signal) {
  Text<64> path("/proc/");
  path << static_cast<unsigned>(pid) << "/task/" << static_cast<unsigned>(tid) << "/status";
  std::uint64_t blocked = 0;
  return !status_mask(path.c_str(), "SigBlk:\t", blocked) || (blocked >> (signal - 1) & 1);
}

unsigned listed_threads() {
  struct stat tasks = {};
  bool told = raw_syscall(SYS_newfstatat, AT_FDCWD, arg("/proc/self/task"), arg(&tasks), 0) == 0;
  return told ? static_cast<unsigned>(tasks.st_nlink) - 2 : 0;
}

std::uint64_t pid_namespace() {
  struct stat status = {};
  return raw_syscall(SYS_newfstatat, AT_FDCWD, arg("/proc/self/ns/pid"), arg(&status), 0) == 0
             ? status.st_ino
             : 0;
}

bool proc_is_of_own_namespace() {
  char name[16] = {};
  long length =
      raw_syscall(SYS_readlinkat, AT_FDCWD, arg("/proc/self"), arg(name), sizeof name - 1);
  return length <= 0 || std::strtoull(name, nullptr, 10) == static_cast<unsigned>(getpid());
}

bool process_alive(pid_t pid, std::uint64_t start_time) {
  char text[1024];
  if (read_stat(pid, 0, text, sizeof text) <= 0) {
    // It is gone, or /proc is not there, or no descriptor to read it by.
    return pid > 0 && raw_syscall(SYS_kill, pid, 0) != -ESRCH;
  }
  const char* state = after_name(text);
  if (!state || *state == 'X') return false;
  // The first thread may have ended long before the others.
  if (*state == 'Z' && stat_number(text, kThreadCount) <= 1) return false;
  return start_time == 0 || stat_number(text, kStartTime) == start_time;
}

}  // namespace roost::os
