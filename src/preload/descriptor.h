// What Roost remembers of each descriptor, to know whether a call on it may wait.
//
// Hints only. Descriptors are closed and used again where Roost cannot see it, so a hint may be out
// of date, and is never relied on for more than time: a call that waits although the hint said it
// would not keeps its core until the watchdog takes it, one that does not wait has given its core
// away for nothing. Both are noticed after the call, and the hint is dropped.
//
// All functions are async-signal-safe, work in any thread and process, and leave errno alone.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>

#include "os/sys.h"
#include "sched/self.h"

namespace roost {

enum class Kind : std::uint8_t {
  unknown,
  instant,      // never waits: a file, a directory, a memory device, or O_NONBLOCK is set
  pipe,         // can be asked with RWF_NOWAIT
  socket,       // can be asked with MSG_DONTWAIT
  full_socket,  // a socket on which sending has waited before
  anonymous,    // event, timer ...: some know RWF_NOWAIT, and writing does not wait
  other,        // terminal ...: can be asked with poll
};

inline constexpr int kRememberedDescriptors = 1 << 14;
extern constinit std::atomic<std::uint8_t> descriptor_kinds[kRememberedDescriptors];

// Asks the kernel (two calls), and remembers.
Kind learn_kind(int fd);

// In Self::polled: none.
inline constexpr int kNoDescriptor = -1;

// In a descriptor's byte: its kind, and above it how many calls in a row have waited.
inline constexpr unsigned kKindBits = 3;

// For a call on the descriptor, which ends a row of polls.
inline std::uint8_t remembered(int fd) {
  self.polled = kNoDescriptor;
  if (static_cast<unsigned>(fd) >= kRememberedDescriptors)
    return static_cast<std::uint8_t>(Kind::other);
  return descriptor_kinds[fd].load(std::memory_order_relaxed);
}
inline void remember(int fd, Kind kind, unsigned waits = 0) {
  if (static_cast<unsigned>(fd) >= kRememberedDescriptors) return;
  descriptor_kinds[fd].store(
      static_cast<std::uint8_t>(static_cast<unsigned>(kind) | waits << kKindBits),
      std::memory_order_relaxed);
}
inline Kind kind_of(int fd) {
  auto known = static_cast<Kind>(remembered(fd) & ((1u << kKindBits) - 1));
  return __builtin_expect(known != Kind::unknown, 1) ? known : learn_kind(fd);
}

// Who waited many times in a row is not asked first the next time.
inline constexpr unsigned kWaitsToExpect = 8;
inline bool expected_to_wait(int fd) { return remembered(fd) >> kKindBits >= kWaitsToExpect; }
inline void note_no_wait(int fd) {
  if (remembered(fd) >> kKindBits) remember(fd, kind_of(fd));
}
inline void note_wait(int fd, bool waited) {
  unsigned waits = remembered(fd) >> kKindBits;
  remember(fd, kind_of(fd), !waited ? 0 : waits < kWaitsToExpect ? waits + 1 : waits);
}

// The descriptor is another one now, or its flags have changed. Returns it.
inline int forget(int fd) {
  remember(fd, Kind::unknown);
  return fd;
}

inline bool is_socket(Kind kind) { return kind == Kind::socket || kind == Kind::full_socket; }

// Whether a call that needs `events` of the descriptor would wait now, as poll tells it. So does
// EINTR: nothing was there when a signal came.
inline bool polls_busy(int fd, short events) {
  pollfd asked{fd, events, 0};
  timespec at_once{};
  long result = os::raw_syscall(SYS_ppoll, os::arg(&asked), 1, os::arg(&at_once), 0, 8);
  return result == 0 || result == -EINTR;
}
inline bool may_wait(int fd, short events) {
  return kind_of(fd) != Kind::instant && polls_busy(fd, events);
}

// Whether sending `bytes` would wait now. Room for a little is room for kSmallSend; for more the
// socket's buffer is looked at. An unknown number is a little, until it has been seen to wait.
inline constexpr std::size_t kSmallSend = 16 * 1024;
bool sending_may_wait(int fd, std::size_t bytes = 0);

}  // namespace roost
