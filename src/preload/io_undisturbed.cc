// Calls that do not wait, but that the kernel ends early where it sees a signal: those that read
// /dev/zero and /dev/urandom at a position, copy between files, and, before Linux 6.12, reserve
// memory of tmpfs (EINTR there).
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/blocking.h"

namespace roost {
namespace {

ROOST_BEHIND(ssize_t, pread, int, void*, size_t, off_t)
ROOST_BEHIND(ssize_t, __pread_chk, int, void*, size_t, off_t, size_t)
ROOST_BEHIND(ssize_t, preadv, int, const iovec*, int, off_t)
ROOST_BEHIND(ssize_t, copy_file_range, int, off64_t*, int, off64_t*, size_t, unsigned)
ROOST_BEHIND(int, fallocate, int, int, off_t, off_t)
ROOST_BEHIND(int, posix_fallocate, int, off_t, off_t)

constexpr size_t kNeverCut = 256;  // the kernel looks at signals after more bytes

}  // namespace

ROOST_EXPORT ssize_t pread(int fd, void* buffer, size_t bytes, off_t at) {
  auto call = [&] { return real_pread(fd, buffer, bytes, at); };
  return bytes <= kNeverCut ? call() : undisturbed(call);
}
ROOST_ALSO(ssize_t, pread64, pread, int, void*, size_t, off_t);
ROOST_ALSO(ssize_t, __pread64, pread, int, void*, size_t, off_t);
ROOST_EXPORT ssize_t __pread_chk(int fd, void* buffer, size_t bytes, off_t at, size_t room) {
  if (bytes > room) return real___pread_chk(fd, buffer, bytes, at, room);  // aborts
  return pread(fd, buffer, bytes, at);
}
ROOST_ALSO(ssize_t, __pread64_chk, __pread_chk, int, void*, size_t, off_t, size_t);
ROOST_EXPORT ssize_t preadv(int fd, const iovec* parts, int count, off_t at) {
  return undisturbed([&] { return real_preadv(fd, parts, count, at); });
}
ROOST_ALSO(ssize_t, preadv64, preadv, int, const iovec*, int, off_t);

ROOST_EXPORT ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at,
                                     size_t bytes, unsigned flags) {
  return undisturbed([&] { return real_copy_file_range(from, from_at, to, to_at, bytes, flags); });
}

ROOST_EXPORT int fallocate(int fd, int mode, off_t at, off_t bytes) {
  return undisturbed([&] { return real_fallocate(fd, mode, at, bytes); });
}
ROOST_ALSO(int, fallocate64, fallocate, int, int, off_t, off_t);
ROOST_EXPORT int posix_fallocate(int fd, off_t at, off_t bytes) {
  return undisturbed([&] { return real_posix_fallocate(fd, at, bytes); });
}
ROOST_ALSO(int, posix_fallocate64, posix_fallocate, int, off_t, off_t);

}  // namespace roost
