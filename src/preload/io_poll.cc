// poll, select and epoll: asked with a zero timeout first; what is ready then is the result.
//
// The attempt takes the caller's signal mask, so a signal that it lets in ends it with EINTR, as it
// would end the call. Only when nothing is ready is libc's call made, without the core.
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <algorithm>

#include "preload/blocking.h"
#include "preload/trap_signals.h"

namespace roost {
namespace {

ROOST_BEHIND(int, poll, pollfd*, nfds_t, int)
ROOST_BEHIND(int, __poll_chk, pollfd*, nfds_t, int, size_t)
ROOST_BEHIND(int, ppoll, pollfd*, nfds_t, const timespec*, const sigset_t*)
ROOST_BEHIND(int, __ppoll_chk, pollfd*, nfds_t, const timespec*, const sigset_t*, size_t)
ROOST_BEHIND(int, select, int, fd_set*, fd_set*, fd_set*, timeval*)
ROOST_BEHIND(int, pselect, int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)
ROOST_BEHIND(int, epoll_wait, int, epoll_event*, int, int)
ROOST_BEHIND(int, epoll_pwait, int, epoll_event*, int, int, const sigset_t*)
ROOST_BEHIND(int, epoll_pwait2, int, epoll_event*, int, const timespec*, const sigset_t*)

constexpr long kMaskBytes = 8;  // the kernel's sigset_t

long or_wait(long result) { return result == 0 ? kWouldWait : result; }

// Three sets as select takes them, copied so that an attempt may overwrite them.
class Sets {
 public:
  static constexpr int kMost = FD_SETSIZE;

  // False if a set cannot be read: the kernel then says so.
  bool copy(int n, fd_set* const (&from)[3]) {
    bytes_ = static_cast<std::size_t>(n + 63) / 64 * 8;
    for (int i = 0; i < 3; ++i) {
      if (!from[i]) continue;
      if (!readable(os::arg(from[i]))) return false;
      memcpy(&copy_[i], from[i], bytes_);
    }
    return true;
  }
  void store(fd_set* const (&to)[3]) const {
    for (int i = 0; i < 3; ++i) {
      if (to[i]) memcpy(to[i], &copy_[i], bytes_);
    }
  }
  long argument(int i, const fd_set* from) { return from ? os::arg(&copy_[i]) : 0; }

 private:
  std::size_t bytes_ = 0;
  fd_set copy_[3];
};

long attempt_select(int n, fd_set* const (&sets)[3], const sigset_t* mask) {
  // Larger sets than the type has room for are legal, but how large they are only the caller knows.
  if (n <= 0 || n > Sets::kMost) return kWouldWait;
  Sets copy;
  if (!copy.copy(n, sets)) return kWouldWait;
  struct {
    const sigset_t* mask;
    std::size_t bytes;
  } signals{mask, kMaskBytes};
  timespec at_once{};
  long result =
      os::raw_syscall(SYS_pselect6, n, copy.argument(0, sets[0]), copy.argument(1, sets[1]),
                      copy.argument(2, sets[2]), os::arg(&at_once), os::arg(&signals));
  if (result > 0) copy.store(sets);
  return or_wait(result);
}

long attempt_epoll(int fd, epoll_event* events, int count, const sigset_t* mask) {
  return or_wait(
      os::raw_syscall(SYS_epoll_pwait, fd, os::arg(events), count, 0, os::arg(mask), kMaskBytes));
}

long attempt_poll(pollfd* fds, nfds_t count, const sigset_t* mask) {
  if (count == 0 && !mask) return kWouldWait;  // a way to sleep
  timespec at_once{};
  return or_wait(os::raw_syscall(SYS_ppoll, os::arg(fds), static_cast<long>(count),
                                 os::arg(&at_once), os::arg(mask), kMaskBytes));
}

// A thread whose polls have waited many times in a row is likely to wait again.
// One with a signal mask is about the thread that makes it.
template <class Attempt, class Call>
int poll_or_wait(const sigset_t* mask, const Attempt& attempt, const Call& call) {
  if (!can_park()) return undisturbed(call);
  if (self.polls_waited < kWaitsToExpect) {
    test_cancel();
    long result = undisturbed(attempt);
    if (result != kWouldWait) {
      self.polls_waited = 0;
      return static_cast<int>(as_libc(result));
    }
  }
  WaitTime time;
  int result = mask ? without_core(call) : without_core_anywhere(call);
  if (!time.waited()) {
    self.polls_waited = 0;
  } else if (self.polls_waited < kWaitsToExpect) {
    ++self.polls_waited;
  }
  return result;
}

// Passes on how many descriptors a poll has `found` ready. A thread that finds the same one again
// and has called nothing on a descriptor meanwhile waits for another to take what is there
// (Python's multiprocessing.Pool keeps a thread so). That one may be READY, or on its way out of
// the kernel, on this very CPU. If it does not come it is asked less often.
int let_others_take(int found, const pollfd* fds, nfds_t count) {
  if (found <= 0 || !can_park()) return found;
  const pollfd* end = fds + count;
  const pollfd* ready = std::find_if(fds, end, [](const pollfd& fd) { return fd.revents != 0; });
  int first = ready == end ? kNoDescriptor : ready->fd;
  if (first != self.polled) {
    self.polled = first;
    self.polls_alike = 0;
    return found;
  }
  unsigned alike = ++self.polls_alike;
  if (alike > 16 && alike % 32 != 0) return found;
  without_core([] {
    os::yield();
    return 0;
  });
  return found;
}

}  // namespace

ROOST_EXPORT int poll(pollfd* fds, nfds_t count, int timeout) {
  auto call = [&] { return real_poll(fds, count, timeout); };
  if (timeout == 0) {
    int events = undisturbed(call);
    note_look(events == 0);
    return events;
  }
  int found = poll_or_wait(
      nullptr, [&] { return attempt_poll(fds, count, nullptr); }, call);
  return let_others_take(found, fds, count);
}
ROOST_ALSO(int, __poll, poll, pollfd*, nfds_t, int);
ROOST_FOR_LIBC(int, poll, (pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
ROOST_EXPORT int __poll_chk(pollfd* fds, nfds_t count, int timeout, size_t room) {
  if (room / sizeof *fds < count) return real___poll_chk(fds, count, timeout, room);  // aborts
  return poll(fds, count, timeout);
}

ROOST_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* asked) {
  sigset_t copy;
  const sigset_t* mask = wait_mask(asked, copy);
  auto call = [&] { return real_ppoll(fds, count, timeout, mask); };
  if (!asks_to_wait(timeout)) return undisturbed(call);
  int found = poll_or_wait(
      mask, [&] { return attempt_poll(fds, count, mask); }, call);
  return let_others_take(found, fds, count);
}
ROOST_EXPORT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                             const sigset_t* mask, size_t room) {
  if (room / sizeof *fds < count) return real___ppoll_chk(fds, count, timeout, mask, room);
  return ppoll(fds, count, timeout, mask);
}

ROOST_EXPORT int select(int n, fd_set* in, fd_set* out, fd_set* except, timeval* timeout) {
  auto call = [&] { return real_select(n, in, out, except, timeout); };
  if (timeout && (timeout->tv_sec | timeout->tv_usec) == 0) return undisturbed(call);
  if (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0)) return undisturbed(call);
  return poll_or_wait(
      nullptr,
      [&] {
        return attempt_select(n, {in, out, except}, nullptr);
      },
      call);
}
ROOST_ALSO(int, __select, select, int, fd_set*, fd_set*, fd_set*, timeval*);
ROOST_EXPORT int pselect(int n, fd_set* in, fd_set* out, fd_set* except, const timespec* timeout,
                         const sigset_t* asked) {
  sigset_t copy;
  const sigset_t* mask = wait_mask(asked, copy);
  auto call = [&] { return real_pselect(n, in, out, except, timeout, mask); };
  if (!asks_to_wait(timeout)) return undisturbed(call);
  return poll_or_wait(
      mask,
      [&] {
        return attempt_select(n, {in, out, except}, mask);
      },
      call);
}

ROOST_EXPORT int epoll_wait(int fd, epoll_event* events, int count, int timeout) {
  auto call = [&] { return real_epoll_wait(fd, events, count, timeout); };
  if (timeout == 0) return call();
  return poll_or_wait(
      nullptr, [&] { return attempt_epoll(fd, events, count, nullptr); }, call);
}
ROOST_EXPORT int epoll_pwait(int fd, epoll_event* events, int count, int timeout,
                             const sigset_t* asked) {
  sigset_t copy;
  const sigset_t* mask = wait_mask(asked, copy);
  auto call = [&] { return real_epoll_pwait(fd, events, count, timeout, mask); };
  if (timeout == 0) return call();
  return poll_or_wait(
      mask, [&] { return attempt_epoll(fd, events, count, mask); }, call);
}
ROOST_EXPORT int epoll_pwait2(int fd, epoll_event* events, int count, const timespec* timeout,
                              const sigset_t* asked) {
  sigset_t copy;
  const sigset_t* mask = wait_mask(asked, copy);
  auto call = [&] { return real_epoll_pwait2(fd, events, count, timeout, mask); };
  if (!asks_kernel_to_wait(timeout)) return call();
  return poll_or_wait(
      mask, [&] { return attempt_epoll(fd, events, count, mask); }, call);
}

}  // namespace roost
