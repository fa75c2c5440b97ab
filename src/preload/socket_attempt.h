// Receiving and sending without waiting, as a system call that is the call itself if it succeeds.
#pragma once

#include <errno.h>
#include <sys/socket.h>

#include "preload/blocking.h"

namespace roost {

// Whether receiving with MSG_DONTWAIT says the same as receiving. A socket with SO_RCVLOWAT would
// give less than it was asked to wait for, so once the program sets that, poll is asked instead.
bool sockets_can_be_tried();

// A result of the kernel; -EOPNOTSUPP if the socket must be asked otherwise.
inline long attempt_receive(int fd, void* buffer, std::size_t bytes, int flags, sockaddr* from,
                            socklen_t* length) {
  if (!sockets_can_be_tried()) return -EOPNOTSUPP;
  return os::raw_syscall(SYS_recvfrom, fd, os::arg(buffer), static_cast<long>(bytes),
                         flags | MSG_DONTWAIT, os::arg(from), os::arg(length));
}
inline long attempt_receive(int fd, msghdr* message, int flags) {
  if (!sockets_can_be_tried()) return -EOPNOTSUPP;
  return os::raw_syscall(SYS_recvmsg, fd, os::arg(message), flags | MSG_DONTWAIT);
}

// The kernel did not judge the call but its form: not a socket any more, a flag that this protocol,
// this kernel or a sandbox does not know.
inline bool attempt_refused(long result) {
  switch (result) {
    case -ENOTSOCK:
    case -EOPNOTSUPP:
    case -EINVAL:
    case -ENOSYS:
    case -EPERM:
    case -ESPIPE:
      return true;
    default:
      return false;
  }
}

// As much as a socket takes whole or not at all; only a stream over a network may take a part when
// its buffer fills at that very byte.
inline bool can_try_to_send(std::size_t bytes) { return bytes > 0 && bytes <= 4096; }

// Sends by an attempt; `call` is libc's own, for all of the bytes.
template <class Call>
ssize_t send_or_wait(int fd, const void* buffer, std::size_t bytes, int flags, const Call& call) {
  test_cancel();
  auto send = [&](std::size_t done, int how) {
    return os::raw_syscall(SYS_sendto, fd, os::arg(static_cast<const char*>(buffer) + done),
                           static_cast<long>(bytes - done), flags | how);
  };
  long sent = send(0, MSG_DONTWAIT);
  if (sent == -EAGAIN || attempt_refused(sent)) return wait_on(fd, call);
  if (sent < 0 || static_cast<std::size_t>(sent) == bytes) return as_libc(sent);
  // Had libc's call failed here, it would have returned this part, and the next call the error.
  long rest = without_core([&] { return send(static_cast<std::size_t>(sent), MSG_NOSIGNAL); });
  return rest < 0 ? sent : sent + rest;
}

}  // namespace roost
