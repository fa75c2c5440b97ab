// Receiving from a socket without waiting, as a system call that is the call itself if it succeeds.
#pragma once

#include <errno.h>
#include <sys/socket.h>

#include "os/sys.h"

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

}  // namespace roost
