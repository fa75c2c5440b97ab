// Descriptors that come and go, opening FIFOs, locks on files, and waiting for the disk.
//
// Opening waits on a FIFO alone, so a path is looked at first where the mode can wait. Locks are
// tried before they are waited for.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#include "preload/affinity.h"
#include "preload/blocking.h"

namespace roost {
namespace {

ROOST_BEHIND(int, open, const char*, int, mode_t)
ROOST_BEHIND(int, open64, const char*, int, mode_t)
ROOST_BEHIND(int, __open_2, const char*, int)
ROOST_BEHIND(int, __open64_2, const char*, int)
ROOST_BEHIND(int, openat, int, const char*, int, mode_t)
ROOST_BEHIND(int, openat64, int, const char*, int, mode_t)
ROOST_BEHIND(int, __openat_2, int, const char*, int)
ROOST_BEHIND(int, __openat64_2, int, const char*, int)
ROOST_BEHIND(int, creat, const char*, mode_t)
ROOST_BEHIND(int, creat64, const char*, mode_t)
ROOST_BEHIND(int, close, int)
ROOST_BEHIND(int, fclose, FILE*)
ROOST_BEHIND(int, dup2, int, int)
ROOST_BEHIND(int, dup3, int, int, int)
ROOST_BEHIND(int, socket, int, int, int)
ROOST_BEHIND(int, socketpair, int, int, int, int*)
ROOST_BEHIND(int, pipe, int*)
ROOST_BEHIND(int, pipe2, int*, int)
ROOST_BEHIND(int, ioctl, int, unsigned long, void*)
ROOST_BEHIND(int, fcntl, int, int, void*)
ROOST_BEHIND(int, fcntl64, int, int, void*)
ROOST_BEHIND(int, lockf, int, int, off_t)
ROOST_BEHIND(int, flock, int, int)
ROOST_BEHIND(int, fsync, int)
ROOST_BEHIND(int, fdatasync, int)
ROOST_BEHIND(int, syncfs, int)
ROOST_BEHIND(void, sync)
ROOST_BEHIND(int, msync, void*, size_t, int)
ROOST_BEHIND(int, tcdrain, int)

// A FIFO opened for one direction waits for the other.
bool opening_may_wait(int directory, const char* path, int flags) {
  if ((flags & O_ACCMODE) == O_RDWR || flags & (O_NONBLOCK | O_DIRECTORY | O_PATH)) return false;
  if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) return false;
  struct stat status = {};
  return os::raw_syscall(SYS_newfstatat, directory, os::arg(path), os::arg(&status),
                         flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
         S_ISFIFO(status.st_mode);
}

template <class Call>
int open_or_wait(int directory, const char* path, int flags, const Call& call) {
  bool waits = can_park() && opening_may_wait(directory, path, flags);
  int fd = forget(waits ? without_core_anywhere(call) : call());
  if (fd >= 0) show_whole_affinity(path);
  return fd;
}

constexpr int kCreat = O_CREAT | O_WRONLY | O_TRUNC;

void forget_pair(const int* fds, int result) {
  if (result != 0) return;
  forget(fds[0]);
  forget(fds[1]);
}

template <class Real>
int control(int fd, int command, void* argument, Real& behind) {
  auto call = [&] { return behind(fd, command, argument); };
  auto lock = [&](int attempt) {
    return attempt_or_wait_cancellable(
        [&] {
          long result = os::raw_syscall(SYS_fcntl, fd, attempt, os::arg(argument));
          return result == -EAGAIN || result == -EACCES ? kWouldWait : result;
        },
        call);
  };
  switch (command) {
    case F_SETLKW:
      return lock(F_SETLK);
    case F_OFD_SETLKW:
      return lock(F_OFD_SETLK);
    case F_SETFL:
      forget(fd);
      return call();
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return forget(call());
    default:
      return call();
  }
}

}  // namespace

// What follows `last` in the call. It is not always there; then what is read is not looked at.
#define ROOST_ARGUMENT(type, name, last) \
  va_list list;                          \
  va_start(list, last);                  \
  type name = va_arg(list, type);        \
  va_end(list)

ROOST_EXPORT int open(const char* path, int flags, ...) {
  ROOST_ARGUMENT(mode_t, mode, flags);
  return open_or_wait(AT_FDCWD, path, flags, [&] { return real_open(path, flags, mode); });
}
ROOST_ALSO(int, __open, open, const char*, int, ...);
ROOST_EXPORT int open64(const char* path, int flags, ...) {
  ROOST_ARGUMENT(mode_t, mode, flags);
  return open_or_wait(AT_FDCWD, path, flags, [&] { return real_open64(path, flags, mode); });
}
ROOST_ALSO(int, __open64, open64, const char*, int, ...);
extern "C" __attribute__((visibility("hidden"))) int roost_open64(const char*, int, mode_t);
int roost_open64(const char* path, int flags, mode_t mode) {
  InsideLibc inside;
  return open_or_wait(AT_FDCWD, path, flags, [&] { return real_open64(path, flags, mode); });
}
ROOST_EXPORT int openat(int directory, const char* path, int flags, ...) {
  ROOST_ARGUMENT(mode_t, mode, flags);
  return open_or_wait(directory, path, flags,
                      [&] { return real_openat(directory, path, flags, mode); });
}
ROOST_EXPORT int openat64(int directory, const char* path, int flags, ...) {
  ROOST_ARGUMENT(mode_t, mode, flags);
  return open_or_wait(directory, path, flags,
                      [&] { return real_openat64(directory, path, flags, mode); });
}
ROOST_EXPORT int __open_2(const char* path, int flags) {
  return open_or_wait(AT_FDCWD, path, flags, [&] { return real___open_2(path, flags); });
}
ROOST_EXPORT int __open64_2(const char* path, int flags) {
  return open_or_wait(AT_FDCWD, path, flags, [&] { return real___open64_2(path, flags); });
}
ROOST_EXPORT int __openat_2(int directory, const char* path, int flags) {
  return open_or_wait(directory, path, flags,
                      [&] { return real___openat_2(directory, path, flags); });
}
ROOST_EXPORT int __openat64_2(int directory, const char* path, int flags) {
  return open_or_wait(directory, path, flags,
                      [&] { return real___openat64_2(directory, path, flags); });
}
ROOST_EXPORT int creat(const char* path, mode_t mode) {
  return open_or_wait(AT_FDCWD, path, kCreat, [&] { return real_creat(path, mode); });
}
ROOST_EXPORT int creat64(const char* path, mode_t mode) {
  return open_or_wait(AT_FDCWD, path, kCreat, [&] { return real_creat64(path, mode); });
}

// Before the number is free: another thread may have it again at once.
ROOST_EXPORT int close(int fd) { return real_close(forget(fd)); }
ROOST_ALSO(int, __close, close, int);
// In which libc closes the descriptor by an instruction of its own.
ROOST_EXPORT int fclose(FILE* stream) {
  int before = errno;
  forget(fileno_unlocked(stream));  // which sets errno where there is none
  errno = before;
  return real_fclose(stream);
}
ROOST_EXPORT int dup2(int from, int to) noexcept { return real_dup2(from, forget(to)); }
ROOST_EXPORT int dup3(int from, int to, int flags) noexcept {
  return real_dup3(from, forget(to), flags);
}
ROOST_EXPORT int socket(int domain, int type, int protocol) noexcept {
  return forget(real_socket(domain, type, protocol));
}
ROOST_EXPORT int socketpair(int domain, int type, int protocol, int fds[2]) noexcept {
  int result = real_socketpair(domain, type, protocol, fds);
  forget_pair(fds, result);
  return result;
}
ROOST_EXPORT int pipe(int fds[2]) noexcept {
  int result = real_pipe(fds);
  forget_pair(fds, result);
  return result;
}
ROOST_EXPORT int pipe2(int fds[2], int flags) noexcept {
  int result = real_pipe2(fds, flags);
  forget_pair(fds, result);
  return result;
}

ROOST_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  ROOST_ARGUMENT(void*, argument, request);
  if (request == FIONBIO) forget(fd);
  return real_ioctl(fd, request, argument);
}
ROOST_EXPORT int fcntl(int fd, int command, ...) {
  ROOST_ARGUMENT(void*, argument, command);
  return control(fd, command, argument, real_fcntl);
}
ROOST_ALSO(int, __fcntl, fcntl, int, int, ...);
ROOST_EXPORT int fcntl64(int fd, int command, ...) {
  ROOST_ARGUMENT(void*, argument, command);
  return control(fd, command, argument, real_fcntl64);
}
#undef ROOST_ARGUMENT

ROOST_EXPORT int lockf(int fd, int command, off_t bytes) {
  auto call = [&] { return real_lockf(fd, command, bytes); };
  if (command != F_LOCK || !can_park()) return call();
  test_cancel();
  int saved = errno;
  int result = real_lockf(fd, F_TLOCK, bytes);
  if (result == 0 || (errno != EAGAIN && errno != EACCES)) return result;
  errno = saved;
  return without_core_anywhere(call);
}
ROOST_ALSO(int, lockf64, lockf, int, int, off_t);

ROOST_EXPORT int flock(int fd, int operation) noexcept {
  auto call = [&] { return real_flock(fd, operation); };
  if (operation & (LOCK_NB | LOCK_UN)) return call();
  return attempt_or_wait(
      [&] {
        long result = os::raw_syscall(SYS_flock, fd, operation | LOCK_NB);
        return result == -EWOULDBLOCK ? kWouldWait : result;
      },
      call);
}

ROOST_EXPORT int fsync(int fd) {
  return without_core([&] { return real_fsync(fd); });
}
ROOST_EXPORT int fdatasync(int fd) {
  return without_core([&] { return real_fdatasync(fd); });
}
ROOST_EXPORT int syncfs(int fd) noexcept {
  return without_core([&] { return real_syncfs(fd); });
}
ROOST_EXPORT void sync() noexcept {
  without_core([] {
    real_sync();
    return 0;
  });
}
ROOST_EXPORT int msync(void* address, size_t bytes, int flags) {
  auto call = [&] { return real_msync(address, bytes, flags); };
  return flags & MS_SYNC ? without_core(call) : call();
}
ROOST_EXPORT int tcdrain(int fd) {
  return without_core([&] { return real_tcdrain(fd); });
}

}  // namespace roost
