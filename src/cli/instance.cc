// Finds and opens segments.
#include "cli/instance.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "os/sys.h"

namespace roost::cli {
namespace {

constexpr const char* kFolder = "/dev/shm";

std::string own_prefix() { return "roost-" + std::to_string(os::effective_user()) + "-"; }

// What segment_open would find only after it may open the file, which another user's it may not.
int check_owner(const std::string& path) {
  struct stat status = {};
  long error = os::raw_syscall(SYS_newfstatat, AT_FDCWD, os::arg(path.c_str()), os::arg(&status),
                               AT_SYMLINK_NOFOLLOW);
  if (error) return static_cast<int>(error);
  if (S_ISLNK(status.st_mode)) return -ELOOP;
  if (!S_ISREG(status.st_mode) || status.st_uid != os::effective_user()) return kSegmentWrongOwner;
  return (status.st_mode & 07777) == 0600 ? 0 : kSegmentWrongMode;
}

bool is_mapped(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  bool mapped = fd < 0 || segment_is_mapped(fd);
  if (fd >= 0) close(fd);
  return mapped;
}

}  // namespace

OpenedInstance open_instance(const std::string& path, bool writable) {
  if (int error = check_owner(path)) return {nullptr, error};
  Segment segment;
  OpenedInstance result;
  result.error = segment_open(segment, path.c_str(), writable);
  if (result.error == 0) result.segment = std::make_unique<MappedSegment>(segment);
  if (result.error == kSegmentUnfinished) result.error = 0;  // as one that was not begun
  if (result.error == kSegmentOtherNamespace && !is_mapped(path)) result.error = 0;
  return result;
}

std::string instance_error(int error) {
  // strerror's "Too many levels of symbolic links" misleads: one is too many.
  return error == -ELOOP ? "its file is a symbolic link" : segment_error(error);
}

std::string instance_path(const std::string& name) {
  char path[kSegmentPathBytes];
  int error = segment_path(path, os::effective_user(), name.c_str(), os::pid_namespace());
  return error == 0 ? path : "";
}

std::string instance_name(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string().substr(own_prefix().size());
  std::string own_mark = kNamespaceMark + std::to_string(os::pid_namespace());
  return name.ends_with(own_mark) ? name.substr(0, name.size() - own_mark.size()) : name;
}

std::vector<std::string> own_segments() {
  std::vector<std::string> paths;
  std::string prefix = own_prefix();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, error)) {
    if (entry.path().filename().string().starts_with(prefix))
      paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

CpuSet cpus_of(const Segment& segment) {
  CpuSet cpus;
  for (CoreIndex core = 0; core < segment.header->n_cores; ++core)
    cpus.set(segment.core_info[core].os_cpu);
  return cpus;
}

CpuSet cpus_of(const Machine& machine) {
  CpuSet cpus;
  for (unsigned core = 0; core < machine.n_cores; ++core) cpus.set(machine.cores[core].os_cpu);
  return cpus;
}

}  // namespace roost::cli
