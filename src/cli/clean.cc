// `roost clean`: removes segments that no living process uses.
#include "cli/clean.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/error.h"
#include "cli/instance.h"
#include "cli/trace_folder.h"
#include "cli/verbs.h"

namespace roost::cli {
namespace {

constexpr const char* kCleanHelp =
    "Instances go with their last process. One is left over only if all of its processes were "
    "killed,\n"
    "until you start the next instance; so this is for tidiness. A recording\n"
    "(roost run --trace) leaves its rings only if roost run itself was killed.\n"
    "\n"
    "Examples:\n"
    "  roost clean                  remove what is left over\n"
    "  roost ps && roost clean      look first";

// Whether a process has the file mapped, by its device and inode. Processes that hide their maps
// count as not: whoever has it mapped keeps it, only newcomers would begin another.
bool mapped_by(const std::filesystem::path& process, const std::string& device_and_inode) {
  std::ifstream maps(process / "maps");
  std::string line;
  while (std::getline(maps, line)) {
    if (line.find(device_and_inode) != std::string::npos) return true;
  }
  return false;
}

bool mapped_by_anyone(const struct stat& file) {
  // As in /proc/PID/maps: "fd:01 1234 ".
  std::string wanted =
      fmt::format(" {:02x}:{:02x} {} ", major(file.st_dev), minor(file.st_dev), file.st_ino);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos)
      continue;
    if (mapped_by(entry.path(), wanted)) return true;
  }
  return false;
}

// A segment of another version, or a damaged one, does not say who uses it: the kernel does.
bool remove_unreadable(const std::string& path) {
  int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat status;
  // While we hold the lock nobody makes it anew, and it is joined by those only who find it in use.
  bool removed = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 &&
                 !mapped_by_anyone(status) && unlink(path.c_str()) == 0;
  close(fd);
  return removed;
}

bool unreadable(int error) {
  return error == kSegmentBadMagic || error == kSegmentOtherVersion || error == kSegmentDamaged ||
         error == kSegmentPolicyMismatch;
}

int clean() {
  int failures = 0;
  bool any = false;
  for (const std::string& path : own_segments()) {
    std::string name = instance_name(path);
    int result = clean_segment(path);
    if (result == -ENOENT) continue;
    any = true;
    if (result == 1) {
      fmt::print("removed instance {}\n", name);
    } else if (result == 0) {
      fmt::print("kept instance {}: it is in use\n", name);
    } else {
      ++failures;
      warn("kept instance {}: {}", name, instance_error(result));
    }
  }
  for (const std::string& path : own_ring_folders()) {
    int result = clean_ring_folder(path);
    if (result == -ENOENT) continue;
    any = true;
    if (result == 1) {
      fmt::print("removed what a recording left, {}\n", path);
    } else if (result == 0) {
      fmt::print("kept {}: its recording runs\n", path);
    } else {
      ++failures;
      warn("kept {}: {}", path, std::strerror(-result));
    }
  }
  if (!any) fmt::print("nothing to clean\n");
  return failures ? kFailed : 0;
}

}  // namespace

int clean_segment(const std::string& path) {
  int result = segment_remove_if_stale(path.c_str());
  return unreadable(result) && remove_unreadable(path) ? 1 : result;
}

void clean_left_over_segments() {
  for (const std::string& path : own_segments()) segment_remove_if_stale(path.c_str());
}

Verb add_clean(CLI::App& app) {
  return add_plain(app, "clean", "Remove what programs that died have left behind", kCleanHelp,
                   clean);
}

}  // namespace roost::cli
