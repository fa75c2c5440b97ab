// Finds and opens segments.
#include "cli/instance.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace roost::cli {
namespace {

constexpr const char* kFolder = "/dev/shm";

std::string own_prefix() { return "roost-" + std::to_string(geteuid()) + "-"; }

// What segment_open would find only after it may open the file, which another user's it may not.
int check_owner(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return -errno;
  if (S_ISLNK(status.st_mode)) return -ELOOP;
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return kSegmentWrongOwner;
  return (status.st_mode & 07777) == 0600 ? 0 : kSegmentWrongMode;
}

}  // namespace

OpenedInstance open_instance(const std::string& path, bool writable) {
  if (int error = check_owner(path)) return {nullptr, error};
  Segment segment;
  OpenedInstance result;
  result.error = segment_open(segment, path.c_str(), writable);
  if (result.error == 0) result.segment = std::make_unique<MappedSegment>(segment);
  if (result.error == kSegmentUnfinished) result.error = 0;  // as one that was not begun
  return result;
}

std::string instance_error(int error) {
  // strerror's "Too many levels of symbolic links" misleads: one is too many.
  return error == -ELOOP ? "its file is a symbolic link" : segment_error(error);
}

std::string instance_path(const std::string& name) {
  char path[kSegmentPathBytes];
  return segment_path(path, geteuid(), name.c_str()) == 0 ? path : "";
}

std::string instance_name(const std::string& path) {
  return std::filesystem::path(path).filename().string().substr(own_prefix().size());
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
