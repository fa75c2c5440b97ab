// Looks at /dev/shm.
#include "cli/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "segment/layout.h"
#include "segment/segment.h"

namespace roost::cli {

SharedMemory look_at_shared_memory(std::uint64_t needed_bytes) {
  constexpr const char* kFolder = "/dev/shm";
  SharedMemory memory;
  struct stat status;
  struct statfs mount;
  if (stat(kFolder, &status) != 0 || !S_ISDIR(status.st_mode) || statfs(kFolder, &mount) != 0) {
    memory.problem = "there is no folder /dev/shm, where instances live; mount a tmpfs there";
    return memory;
  }
  memory.tmpfs = mount.f_type == TMPFS_MAGIC;
  memory.total_bytes =
      static_cast<std::uint64_t>(mount.f_blocks) * static_cast<std::uint64_t>(mount.f_bsize);
  memory.free_bytes =
      static_cast<std::uint64_t>(mount.f_bavail) * static_cast<std::uint64_t>(mount.f_bsize);
  if (faccessat(AT_FDCWD, kFolder, W_OK | X_OK, AT_EACCESS) != 0) {
    memory.problem = fmt::format("/dev/shm, where instances live, cannot be written to: {}",
                                 std::strerror(errno));
  } else if (mount.f_blocks != 0 && memory.free_bytes < needed_bytes) {
    memory.problem = fmt::format(
        "/dev/shm has {} left and an instance needs {}; enlarge it or remove files there",
        format_bytes(memory.free_bytes), format_bytes(needed_bytes));
  }
  return memory;
}

std::uint64_t bytes_of_instance(unsigned n_cores, std::uint64_t n_threads) {
  return segment_layout(n_cores, n_threads ? n_threads : kDefaultThreads).total;
}

std::string format_bytes(std::uint64_t bytes) {
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  unsigned unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, units[unit]);
}

}  // namespace roost::cli
