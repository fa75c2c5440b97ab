// read, write and their relatives on any kind of descriptor.
//
// Pipes and sockets are asked by the call itself in the form that does not wait: what is there
// costs no second system call. A write to a pipe may be taken in part; the rest waits, and the sum
// is what libc's own call would have returned. Everything else is asked with poll; files not at
// all.
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>

#include "preload/blocking.h"
#include "preload/socket_attempt.h"

namespace roost {
namespace {

ROOST_BEHIND(ssize_t, read, int, void*, size_t)
ROOST_BEHIND(ssize_t, write, int, const void*, size_t)
ROOST_BEHIND(ssize_t, readv, int, const iovec*, int)
ROOST_BEHIND(ssize_t, writev, int, const iovec*, int)
ROOST_BEHIND(ssize_t, preadv2, int, const iovec*, int, off64_t, int)
ROOST_BEHIND(ssize_t, pwritev2, int, const iovec*, int, off64_t, int)
ROOST_BEHIND(ssize_t, __read_chk, int, void*, size_t, size_t)
ROOST_BEHIND(int, poll, pollfd*, nfds_t, int)
ROOST_BEHIND(int, eventfd_read, int, eventfd_t*)
ROOST_BEHIND(ssize_t, splice, int, off64_t*, int, off64_t*, size_t, unsigned)
ROOST_BEHIND(ssize_t, tee, int, int, size_t, unsigned)
ROOST_BEHIND(ssize_t, vmsplice, int, const iovec*, size_t, unsigned)
ROOST_BEHIND(ssize_t, sendfile, int, int, off_t*, size_t)
ROOST_BEHIND(ssize_t, getrandom, void*, size_t, unsigned)

enum class Way { in, out };

// The form of readv and writev that does not wait, at the descriptor's own position.
long attempt_vector(Way way, int fd, const iovec* parts, int count) {
  long number = way == Way::in ? SYS_preadv2 : SYS_pwritev2;
  return os::raw_syscall(number, fd, os::arg(parts), count, -1, -1, RWF_NOWAIT);
}

// What an attempt says: final, or that the call would wait, or that this kernel or this descriptor
// cannot be asked so, which is remembered.
long judge(int fd, long result) {
  if (result == -EAGAIN) return kWouldWait;
  if (!attempt_refused(result)) return result;
  remember(fd, Kind::other);
  return kWouldWait;
}

bool can_be_tried(Kind kind) {
  return kind == Kind::pipe || kind == Kind::anonymous || is_socket(kind);
}

template <class Attempt, class Call>
ssize_t take_or_wait(int fd, const Attempt& attempt, const Call& call) {
  if (!can_park()) return undisturbed(call);
  if (expected_to_wait(fd)) return wait_on(fd, call);
  Kind kind = kind_of(fd);
  if (can_be_tried(kind)) {
    test_cancel();
    long result = judge(fd, attempt(kind));
    if (result != kWouldWait) {
      note_no_wait(fd);
      return as_libc(result);
    }
    kind = kind_of(fd);
    if (kind != Kind::other) return wait_on(fd, call);
  }
  return call_or_wait(
      fd, [&] { return may_wait(fd, POLLIN); }, call);
}

template <class Call>
ssize_t read_or_wait(int fd, void* buffer, size_t bytes, const Call& call) {
  if (bytes == 0) return call();
  return take_or_wait(
      fd,
      [&](Kind kind) {
        if (is_socket(kind)) return attempt_receive(fd, buffer, bytes, 0, nullptr, nullptr);
        iovec part{buffer, bytes};
        return attempt_vector(Way::in, fd, &part, 1);
      },
      call);
}

// Only a socket's readv is asked with poll: without a byte to read it returns at once where
// recvmsg would wait.
template <class Call>
ssize_t readv_or_wait(int fd, const iovec* parts, int count, const Call& call) {
  if (can_park() && kind_of(fd) == Kind::pipe)
    return take_or_wait(
        fd, [&](Kind) { return attempt_vector(Way::in, fd, parts, count); }, call);
  return call_or_wait(
      fd, [&] { return may_wait(fd, POLLIN); }, call);
}

// The rest of a write to a pipe that has taken `done` of `bytes`; `attempt(done)` goes on without
// waiting. A signal ends it with what was written, whatever its handler's SA_RESTART, as in the
// kernel: so it waits by poll, which is never restarted. Whether such a write waits may have been
// changed by another number or process that has the same description: so that is asked before.
template <class Attempt>
ssize_t write_rest(int fd, size_t done, size_t bytes, const Attempt& attempt) {
  if (learn_kind(fd) != Kind::pipe) return static_cast<ssize_t>(done);
  return wait_on(fd, [&] {
    while (done < bytes) {
      pollfd room{fd, POLLOUT, 0};
      if (real_poll(&room, 1, -1) < 0) break;
      long written = attempt(done);
      if (written > 0) done += static_cast<size_t>(written);
      if (written < 0 && written != -EAGAIN) break;  // the next call says why
    }
    return static_cast<ssize_t>(done);
  });
}

// Without waiting, what is left of a vector after its first `done` bytes, a few parts at a time:
// the caller's stack may be a signal handler's.
long attempt_rest(int fd, const iovec* parts, int count, size_t done) {
  constexpr int kBatch = 16;
  iovec left[kBatch];
  int n = 0;
  for (int i = 0; i < count && n < kBatch; ++i) {
    size_t skip = std::min(done, parts[i].iov_len);
    done -= skip;
    if (parts[i].iov_len == skip) continue;
    left[n++] = {static_cast<char*>(parts[i].iov_base) + skip, parts[i].iov_len - skip};
  }
  return attempt_vector(Way::out, fd, left, n);
}

template <class Call>
ssize_t writev_or_wait(int fd, const iovec* parts, int count, const Call& call) {
  if (!can_park() || kind_of(fd) != Kind::pipe)
    return call_or_wait(
        fd, [&] { return sending_may_wait(fd); }, call, true);
  test_cancel();
  long written = judge(fd, attempt_vector(Way::out, fd, parts, count));
  if (written == kWouldWait) return wait_on(fd, call);
  if (written < 0) return as_libc(written);
  // The kernel has read the vector, so it can be read here.
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  auto done = static_cast<size_t>(written);
  return done >= bytes ? written : write_rest(fd, done, bytes, [&](size_t taken) {
    return attempt_rest(fd, parts, count, taken);
  });
}

// Writes to an eventfd wait until its count is read where that would pass 2^64 - 2: so none is
// asked before a value has been written with which counts come near. Other anonymous descriptors
// are not written to.
std::atomic<bool> large_values_written{false};

void note_value_written(const void* buffer, ssize_t written) {
  std::uint64_t value;
  if (written != sizeof value) return;
  memcpy(&value, buffer, sizeof value);
  if (value >> 62) large_values_written.store(true, std::memory_order_relaxed);
}

template <class Call>
ssize_t write_anonymous(int fd, const void* buffer, const Call& call) {
  ssize_t written = call_or_wait(
      fd,
      [&] { return large_values_written.load(std::memory_order_relaxed) && may_wait(fd, POLLOUT); },
      call, true);
  note_value_written(buffer, written);
  return written;
}

// Both ends of a call that moves bytes between descriptors.
template <class Call>
ssize_t move_or_wait(int from, int to, size_t bytes, unsigned flags, const Call& call) {
  return call_or_wait(
      to,
      [&] {
        if (flags & SPLICE_F_NONBLOCK) return false;
        return may_wait(from, POLLIN) || sending_may_wait(to, bytes);
      },
      call, true);
}

}  // namespace

ROOST_EXPORT ssize_t read(int fd, void* buffer, size_t bytes) {
  return read_or_wait(fd, buffer, bytes, [&] { return real_read(fd, buffer, bytes); });
}
ROOST_ALSO(ssize_t, __read, read, int, void*, size_t);
ROOST_FOR_LIBC(ssize_t, read, (int fd, void* buffer, size_t bytes), (fd, buffer, bytes))
ROOST_EXPORT ssize_t __read_chk(int fd, void* buffer, size_t bytes, size_t room) {
  if (bytes > room) return real___read_chk(fd, buffer, bytes, room);  // aborts
  return read(fd, buffer, bytes);
}

ROOST_EXPORT ssize_t write(int fd, const void* buffer, size_t bytes) {
  auto call = [&] { return real_write(fd, buffer, bytes); };
  Kind kind = can_park() ? kind_of(fd) : Kind::instant;
  if (kind == Kind::socket && can_try_to_send(bytes))
    return send_or_wait(fd, buffer, bytes, 0, call);
  if (kind == Kind::anonymous) return write_anonymous(fd, buffer, call);
  if (kind != Kind::pipe)
    return call_or_wait(
        fd, [&] { return sending_may_wait(fd, bytes); }, call, true);
  auto attempt = [&](size_t done) {
    iovec part{const_cast<char*>(static_cast<const char*>(buffer)) + done, bytes - done};
    return attempt_vector(Way::out, fd, &part, 1);
  };
  test_cancel();
  long written = judge(fd, attempt(0));
  if (written == kWouldWait) return wait_on(fd, call);
  if (written < 0 || static_cast<size_t>(written) >= bytes) return as_libc(written);
  return write_rest(fd, static_cast<size_t>(written), bytes, attempt);
}
ROOST_ALSO(ssize_t, __write, write, int, const void*, size_t);
ROOST_FOR_LIBC(ssize_t, write, (int fd, const void* buffer, size_t bytes), (fd, buffer, bytes))

ROOST_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  return readv_or_wait(fd, parts, count, [&] { return real_readv(fd, parts, count); });
}
ROOST_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  return writev_or_wait(fd, parts, count, [&] { return real_writev(fd, parts, count); });
}

// With a position these are for files, which do not wait; without one they are readv and writev.
ROOST_EXPORT ssize_t preadv2(int fd, const iovec* parts, int count, off64_t at, int flags) {
  auto call = [&] { return real_preadv2(fd, parts, count, at, flags); };
  if (at != -1 || flags & RWF_NOWAIT) return undisturbed(call);
  return call_or_wait(
      fd, [&] { return may_wait(fd, POLLIN); }, call);
}
ROOST_ALSO(ssize_t, preadv64v2, preadv2, int, const iovec*, int, off64_t, int);
ROOST_EXPORT ssize_t pwritev2(int fd, const iovec* parts, int count, off64_t at, int flags) {
  auto call = [&] { return real_pwritev2(fd, parts, count, at, flags); };
  if (at != -1 || flags & RWF_NOWAIT) return call();
  return call_or_wait(
      fd, [&] { return sending_may_wait(fd); }, call, true);
}
ROOST_ALSO(ssize_t, pwritev64v2, pwritev2, int, const iovec*, int, off64_t, int);

ROOST_EXPORT int eventfd_read(int fd, eventfd_t* value) {
  return call_or_wait(
      fd, [&] { return may_wait(fd, POLLIN); }, [&] { return real_eventfd_read(fd, value); });
}
ROOST_EXPORT ssize_t splice(int from, off64_t* from_at, int to, off64_t* to_at, size_t bytes,
                            unsigned flags) {
  return move_or_wait(from, to, bytes, flags,
                      [&] { return real_splice(from, from_at, to, to_at, bytes, flags); });
}
ROOST_EXPORT ssize_t tee(int from, int to, size_t bytes, unsigned flags) {
  return move_or_wait(from, to, bytes, flags, [&] { return real_tee(from, to, bytes, flags); });
}
// The direction is that of the pipe's end, so poll for the one it has.
ROOST_EXPORT ssize_t vmsplice(int fd, const iovec* parts, size_t count, unsigned flags) {
  return call_or_wait(
      fd, [&] { return !(flags & SPLICE_F_NONBLOCK) && may_wait(fd, POLLIN | POLLOUT); },
      [&] { return real_vmsplice(fd, parts, count, flags); });
}
ROOST_EXPORT ssize_t sendfile(int to, int from, off_t* at, size_t bytes) noexcept {
  return move_or_wait(from, to, bytes, 0, [&] { return real_sendfile(to, from, at, bytes); });
}
ROOST_ALSO(ssize_t, sendfile64, sendfile, int, int, off_t*, size_t) noexcept;

// Waits only while the kernel has gathered no entropy yet.
ROOST_EXPORT ssize_t getrandom(void* buffer, size_t bytes, unsigned flags) {
  auto call = [&] { return real_getrandom(buffer, bytes, flags); };
  if (flags & GRND_NONBLOCK) return undisturbed(call);
  return attempt_or_wait_cancellable(
      [&] {
        long result = undisturbed([&] {
          return os::raw_syscall(SYS_getrandom, os::arg(buffer), static_cast<long>(bytes),
                                 flags | GRND_NONBLOCK);
        });
        return result == -EAGAIN ? kWouldWait : result;
      },
      call);
}

}  // namespace roost
