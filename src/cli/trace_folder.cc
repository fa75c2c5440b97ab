// Makes, locks and removes folders of rings.
#include "cli/trace_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/error.h"

namespace roost::cli {
namespace {

constexpr const char* kRingsIn = "/dev/shm";
// No instance's name begins so.
std::string ring_prefix() { return fmt::format("roost.trace-{}-", geteuid()); }

// Programs may still run, and make rings by the folder's name: so it loses its name first. The
// second and later rounds are for a ring that was being made just then.
std::error_code remove_rings(const std::string& path) {
  std::error_code error;
  std::string unnamed = path + "-gone";
  std::filesystem::rename(path, unnamed, error);
  if (error) return error;
  for (int round = 0; round < 8; ++round) {
    std::filesystem::remove_all(unnamed, error);
    if (error != std::errc::directory_not_empty) break;
  }
  return error;
}

}  // namespace

RingFolder::RingFolder() : path_(fmt::format("{}/{}XXXXXX", kRingsIn, ring_prefix())) {
  if (!mkdtemp(path_.data()))
    die(kCannotRun, "there is no place for a recording in {}: {}", kRingsIn, std::strerror(errno));
  lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) flock(lock_, LOCK_EX | LOCK_NB);
}

RingFolder::~RingFolder() {
  [[maybe_unused]] std::error_code left = remove_rings(path_);  // `roost clean` finds it
  if (lock_ >= 0) close(lock_);
}

std::vector<std::string> own_ring_folders() {
  std::vector<std::string> paths;
  std::string prefix = ring_prefix();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kRingsIn, error)) {
    struct stat status;
    if (entry.path().filename().string().starts_with(prefix) &&
        lstat(entry.path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        status.st_uid == geteuid())
      paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

int clean_ring_folder(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -errno;
  int result = 0;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    std::error_code error = remove_rings(path);
    result = error ? -error.value() : 1;
  }
  close(fd);
  return result;
}

}  // namespace roost::cli
