// Sockets: receiving by an attempt, sending by a look at the room there is, connections.
#include <fcntl.h>
#include <sys/socket.h>

#include "preload/blocking.h"
#include "preload/socket_attempt.h"

namespace roost {
namespace {

ROOST_BEHIND(ssize_t, recv, int, void*, size_t, int)
ROOST_BEHIND(ssize_t, __recv_chk, int, void*, size_t, size_t, int)
ROOST_BEHIND(ssize_t, recvfrom, int, void*, size_t, int, sockaddr*, socklen_t*)
ROOST_BEHIND(ssize_t, __recvfrom_chk, int, void*, size_t, size_t, int, sockaddr*, socklen_t*)
ROOST_BEHIND(ssize_t, recvmsg, int, msghdr*, int)
ROOST_BEHIND(int, recvmmsg, int, mmsghdr*, unsigned, int, timespec*)
ROOST_BEHIND(ssize_t, send, int, const void*, size_t, int)
ROOST_BEHIND(ssize_t, sendto, int, const void*, size_t, int, const sockaddr*, socklen_t)
ROOST_BEHIND(ssize_t, sendmsg, int, const msghdr*, int)
ROOST_BEHIND(int, sendmmsg, int, mmsghdr*, unsigned, int)
ROOST_BEHIND(int, accept, int, sockaddr*, socklen_t*)
ROOST_BEHIND(int, accept4, int, sockaddr*, socklen_t*, int)
ROOST_BEHIND(int, connect, int, const sockaddr*, socklen_t)
ROOST_BEHIND(int, setsockopt, int, int, int, const void*, socklen_t)

std::atomic<bool> low_water_mark_used{false};

// With these receiving never waits.
constexpr int kReceiveAtOnce = MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB;

template <class Attempt, class Call>
ssize_t receive_or_wait(int fd, int flags, const Attempt& attempt, const Call& call) {
  if (!can_park() || flags & kReceiveAtOnce || kind_of(fd) == Kind::instant)
    return call_or_wait(
        fd, [] { return false; }, call);
  // For the last byte: nothing tells of that.
  if (flags & MSG_WAITALL || expected_to_wait(fd)) return wait_on(fd, call);
  test_cancel();
  long result = attempt();
  if (result == -EAGAIN) return wait_on(fd, call);
  if (!attempt_refused(result)) {
    note_no_wait(fd);
    return as_libc(result);
  }
  return call_or_wait(
      fd, [&] { return may_wait(fd, POLLIN); }, call);
}

// By a look at the room there is.
template <class Waits, class Call>
auto look_and_send(int fd, int flags, const Waits& waits, const Call& call) {
  return call_or_wait(
      fd, [&] { return !(flags & MSG_DONTWAIT) && waits(); }, call, true);
}

template <class Call>
ssize_t send_some(int fd, const void* buffer, size_t bytes, int flags, const Call& call) {
  if (can_park() && !(flags & MSG_DONTWAIT) && can_try_to_send(bytes) &&
      kind_of(fd) == Kind::socket)
    return send_or_wait(fd, buffer, bytes, flags, call);
  return look_and_send(
      fd, flags, [&] { return sending_may_wait(fd, bytes); }, call);
}

bool connecting_may_wait(int fd) {
  if (kind_of(fd) == Kind::instant) return false;
  int type = 0;
  socklen_t length = sizeof type;
  return os::raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, os::arg(&type),
                         os::arg(&length)) == 0 &&
         type != SOCK_DGRAM && type != SOCK_RAW;
}

}  // namespace

bool sockets_can_be_tried() { return !low_water_mark_used.load(std::memory_order_relaxed); }

ROOST_EXPORT ssize_t recv(int fd, void* buffer, size_t bytes, int flags) {
  return receive_or_wait(
      fd, flags, [&] { return attempt_receive(fd, buffer, bytes, flags, nullptr, nullptr); },
      [&] { return real_recv(fd, buffer, bytes, flags); });
}
ROOST_EXPORT ssize_t __recv_chk(int fd, void* buffer, size_t bytes, size_t room, int flags) {
  if (bytes > room) return real___recv_chk(fd, buffer, bytes, room, flags);  // aborts
  return recv(fd, buffer, bytes, flags);
}
ROOST_EXPORT ssize_t recvfrom(int fd, void* buffer, size_t bytes, int flags, sockaddr* from,
                              socklen_t* length) {
  return receive_or_wait(
      fd, flags, [&] { return attempt_receive(fd, buffer, bytes, flags, from, length); },
      [&] { return real_recvfrom(fd, buffer, bytes, flags, from, length); });
}
ROOST_EXPORT ssize_t __recvfrom_chk(int fd, void* buffer, size_t bytes, size_t room, int flags,
                                    sockaddr* from, socklen_t* length) {
  if (bytes > room) return real___recvfrom_chk(fd, buffer, bytes, room, flags, from, length);
  return recvfrom(fd, buffer, bytes, flags, from, length);
}
ROOST_EXPORT ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return receive_or_wait(
      fd, flags, [&] { return attempt_receive(fd, message, flags); },
      [&] { return real_recvmsg(fd, message, flags); });
}
// Waits for all `count` messages, unless told to wait for one.
ROOST_EXPORT int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  return call_or_wait(
      fd,
      [&] {
        if (flags & kReceiveAtOnce || kind_of(fd) == Kind::instant) return false;
        return (count > 1 && !(flags & MSG_WAITFORONE)) || polls_busy(fd, POLLIN);
      },
      [&] { return real_recvmmsg(fd, messages, count, flags, timeout); });
}

ROOST_EXPORT ssize_t send(int fd, const void* buffer, size_t bytes, int flags) {
  return send_some(fd, buffer, bytes, flags, [&] { return real_send(fd, buffer, bytes, flags); });
}
ROOST_ALSO(ssize_t, __send, send, int, const void*, size_t, int);
ROOST_FOR_LIBC(ssize_t, send, (int fd, const void* buffer, size_t bytes, int flags),
               (fd, buffer, bytes, flags))
ROOST_EXPORT ssize_t sendto(int fd, const void* buffer, size_t bytes, int flags, const sockaddr* to,
                            socklen_t length) {
  auto call = [&] { return real_sendto(fd, buffer, bytes, flags, to, length); };
  if (!to) return send_some(fd, buffer, bytes, flags, call);
  return look_and_send(
      fd, flags, [&] { return sending_may_wait(fd, bytes); }, call);
}
ROOST_EXPORT ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return look_and_send(
      fd, flags, [&] { return sending_may_wait(fd); },
      [&] { return real_sendmsg(fd, message, flags); });
}
ROOST_EXPORT int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  return look_and_send(
      fd, flags, [&] { return sending_may_wait(fd); },
      [&] { return real_sendmmsg(fd, messages, count, flags); });
}

ROOST_EXPORT int accept(int fd, sockaddr* from, socklen_t* length) {
  return forget(call_or_wait(
      fd, [&] { return may_wait(fd, POLLIN); }, [&] { return real_accept(fd, from, length); }));
}
ROOST_EXPORT int accept4(int fd, sockaddr* from, socklen_t* length, int flags) {
  return forget(call_or_wait(
      fd, [&] { return may_wait(fd, POLLIN); },
      [&] { return real_accept4(fd, from, length, flags); }));
}
ROOST_EXPORT int connect(int fd, const sockaddr* to, socklen_t length) {
  return call_or_wait(
      fd, [&] { return connecting_may_wait(fd); }, [&] { return real_connect(fd, to, length); });
}
ROOST_ALSO(int, __connect, connect, int, const sockaddr*, socklen_t);

ROOST_EXPORT int setsockopt(int fd, int level, int option, const void* value,
                            socklen_t length) noexcept {
  if (level == SOL_SOCKET && option == SO_RCVLOWAT)
    low_water_mark_used.store(true, std::memory_order_relaxed);
  return real_setsockopt(fd, level, option, value, length);
}

}  // namespace roost
