// Asks the kernel what a descriptor is.
#include "preload/descriptor.h"

#include <limits.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace roost {
namespace {

constexpr unsigned kMemoryDevices = 1;  // major number of null, zero, random ...

Kind kind_by_mode(const struct stat& status) {
  if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode))
    return Kind::instant;
  if (S_ISCHR(status.st_mode) && major(status.st_rdev) == kMemoryDevices) return Kind::instant;
  if (S_ISFIFO(status.st_mode)) return Kind::pipe;
  if (S_ISSOCK(status.st_mode)) return Kind::socket;
  return (status.st_mode & S_IFMT) == 0 ? Kind::anonymous : Kind::other;
}

}  // namespace

constinit std::atomic<std::uint8_t> descriptor_kinds[kRememberedDescriptors] = {};

Kind learn_kind(int fd) {
  struct stat status = {};
  if (os::raw_syscall(SYS_fstat, fd, os::arg(&status)) < 0) return Kind::instant;  // the call fails
  Kind kind = kind_by_mode(status);
  if (kind != Kind::instant) {
    long flags = os::raw_syscall(SYS_fcntl, fd, F_GETFL);
    if (flags < 0 || flags & O_NONBLOCK) kind = Kind::instant;
  }
  remember(fd, kind);
  return kind;
}

bool sending_may_wait(int fd, std::size_t bytes) {
  Kind kind = kind_of(fd);
  if (kind == Kind::instant || kind == Kind::anonymous) return false;
  if (kind == Kind::full_socket) return true;
  if (kind == Kind::pipe && bytes > PIPE_BUF) return true;
  if (!is_socket(kind) || bytes <= kSmallSend) return polls_busy(fd, POLLOUT);
  std::uint32_t memory[SK_MEMINFO_VARS] = {};
  socklen_t length = sizeof memory;
  if (os::raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_MEMINFO, os::arg(memory),
                      os::arg(&length)) < 0)
    return true;
  // The kernel counts its own headers too: at most as much again.
  std::uint64_t used = memory[SK_MEMINFO_WMEM_ALLOC] > memory[SK_MEMINFO_WMEM_QUEUED]
                           ? memory[SK_MEMINFO_WMEM_ALLOC]
                           : memory[SK_MEMINFO_WMEM_QUEUED];
  return used + 2 * static_cast<std::uint64_t>(bytes) > memory[SK_MEMINFO_SNDBUF];
}

}  // namespace roost
