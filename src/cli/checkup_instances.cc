// Doctor's look at /dev/shm, at the segments in it and at the library.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/checkup.h"
#include "cli/error.h"
#include "cli/instance.h"
#include "cli/library.h"
#include "cli/own_cores.h"
#include "cli/shared_memory.h"

namespace roost::cli {
namespace {

// A file without a name, so that nothing can be left behind: 0 or errno.
int try_to_create() {
  int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return errno == EOPNOTSUPP || errno == EISDIR ? 0 : errno;
  char byte = 0;
  int error = write(fd, &byte, 1) == 1 ? 0 : errno;
  close(fd);
  return error;
}

Finding examine_shared_memory() {
  std::uint64_t needed = bytes_of_instance(machine_for({}).n_cores, 0);
  SharedMemory memory = look_at_shared_memory(needed);
  if (!memory.problem.empty())
    return {Level::fail, "/dev/shm", memory.problem,
            "`roost run` needs a /dev/shm that this user can write to, with room for an instance"};
  if (int error = try_to_create()) {
    return {Level::fail, "/dev/shm",
            fmt::format("a file cannot be made there: {}", std::strerror(error)),
            "give this user the right to write there"};
  }
  std::string text =
      fmt::format("{} of {} free; an instance takes up to {}", format_bytes(memory.free_bytes),
                  format_bytes(memory.total_bytes), format_bytes(needed));
  if (!memory.tmpfs) {
    return {Level::warn, "/dev/shm", text + ", on a disk",
            "mount a tmpfs there: a disk makes hand-offs slow"};
  }
  return {Level::ok, "/dev/shm", text, ""};
}

Finding examine_segments() {
  std::size_t living = 0, elsewhere = 0, stale = 0;
  std::string bad;
  for (const std::string& path : own_segments()) {
    OpenedInstance opened = open_instance(path, false);
    if (opened.error == -ENOENT) continue;
    if (opened.error == kSegmentOtherNamespace) {
      ++elsewhere;
    } else if (opened.error) {
      bad += fmt::format("{}{}: {}", bad.empty() ? "" : "; ", instance_name(path),
                         instance_error(opened.error));
    } else if (opened.segment && segment_in_use(**opened.segment)) {
      ++living;
    } else {
      ++stale;
    }
  }
  if (!bad.empty()) {
    return {Level::warn, "instances", bad,
            "`roost clean` removes them if nobody uses them; else use another --instance"};
  }
  std::string running = fmt::format("{} running", living);
  if (elsewhere) running += fmt::format(", {} in other containers", elsewhere);
  if (stale) {
    return {Level::warn, "instances",
            fmt::format("{}, {} left by programs that died", running, stale),
            "`roost clean` removes them"};
  }
  return {Level::ok, "instances", running, ""};
}

// Starts this very command with the library preloaded, unmanaged; what the dynamic linker says of
// it.
std::string try_to_load(const std::string& library) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string preload = "LD_PRELOAD=" + library;
  char name[] = "roost", option[] = "--version", now[] = "LD_BIND_NOW=1";
  char* const arguments[] = {name, option, nullptr};
  char* const environment[] = {preload.data(), now, nullptr};
  pid_t child = 0;
  int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string said;
  char buffer[1024];
  for (ssize_t count; error == 0 && (count = read(ends[0], buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (error) return std::strerror(error);
  int status = 0;
  waitpid(child, &status, 0);
  if (said.empty() && status != 0)
    said = fmt::format("a program with it ended with status {:#x}", status);
  return said.substr(0, said.find('\n'));
}

Finding examine_library() {
  try {
    std::string library = find_library(look_up_own);
    std::string complaint = try_to_load(library);
    if (complaint.empty()) return {Level::ok, "library", library, ""};
    return {Level::fail, "library", fmt::format("{} cannot be loaded: {}", library, complaint),
            "build or install Roost for this system"};
  } catch (const Failure& failure) {
    return {Level::fail, "library", failure.what(), "`roost run` needs it"};
  }
}

}  // namespace

std::vector<Finding> examine_instances() {
  return {examine_shared_memory(), examine_segments(), examine_library()};
}

}  // namespace roost::cli
