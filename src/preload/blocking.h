// How libc calls that may wait in the kernel are made: with the core if they will not wait, without
// it if they will. One mechanism for all families (src/preload/io_*.cc, wait_*.cc).
//
// Whether a call will wait is found out in one of three ways, the cheapest that is exact:
//   attempt   the kernel's own form of the call that does not wait (MSG_DONTWAIT, LOCK_NB, a zero
//             timeout ...), made at once: if it succeeds it was the call
//   hint      one look beforehand (poll, or what is remembered of the descriptor)
//   nothing   the call nearly always waits
// A call that waits is libc's own, so its result, EINTR, restart, signal mask and cancellation are
// libc's. An attempt is no cancellation point: callers test before it where the call is one.
#pragma once

#include <errno.h>
#include <limits.h>

#include "preload/descriptor.h"
#include "preload/wait.h"

namespace roost {

// libc's function behind the interposed one of this family, as real_NAME.
#define ROOST_BEHIND(result, name, ...) \
  ROOST_LISTED constinit Real<result(__VA_ARGS__)> real_##name{#name};
// Another name that libc exports for the same function.
#define ROOST_ALSO(result, other, name, ...) \
  extern "C" __attribute__((visibility("default"), alias(#name))) result other(__VA_ARGS__)

// Where libc's own calls of the function are led (libc_calls.h), as roost_NAME. Through a name that
// no library before Roost can have defined, too.
#define ROOST_FOR_LIBC(result, name, parameters, arguments)                        \
  extern "C" __attribute__((visibility("hidden"), alias(#name)))                   \
  result roost_own_##name parameters;                                              \
  extern "C" __attribute__((visibility("hidden"))) result roost_##name parameters; \
  result roost_##name parameters {                                                 \
    InsideLibc inside;                                                             \
    return roost_own_##name arguments;                                             \
  }

// The calling thread is in a call that libc made.
class InsideLibc {
 public:
  InsideLibc() { self.inside_libc = true; }
  ~InsideLibc() { self.inside_libc = before_; }
  InsideLibc(const InsideLibc&) = delete;
  InsideLibc& operator=(const InsideLibc&) = delete;

 private:
  bool before_ = self.inside_libc;
};

// A result of the kernel as libc returns it.
inline long as_libc(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// A timeout (null: for ever) of zero does not wait; one that is malformed is the kernel's to
// refuse.
inline bool asks_to_wait(const timespec* timeout) {
  if (!timeout) return true;
  return valid(timeout) && timeout->tv_sec >= 0 && (timeout->tv_sec | timeout->tv_nsec) != 0;
}

// The same for calls that libc hands to the kernel without looking at the time itself, which may
// not be in memory at all.
inline bool asks_kernel_to_wait(const timespec* timeout) {
  timespec time{};
  if (!timeout) return true;
  return os::read_own_memory(reinterpret_cast<std::uintptr_t>(timeout), &time, sizeof time) &&
         asks_to_wait(&time);
}

inline constexpr long kWouldWait = LONG_MIN;

// After a call on `fd` that was thought not to wait. The core, if it had one, is gone if it did,
// for long and while others were READY.
void waited_with_core(int fd, bool sending);
inline void check_core(int fd, bool sending = false) {
  if (__builtin_expect(!has_core() && !self.beside, 0)) waited_with_core(fd, sending);
}

// Whether a call made without the core did wait. It cannot be asked: it shows in the time, of which
// a call that waits takes at least two switches of threads.
class WaitTime {
 public:
  bool waited() const { return os::now() - start_ > kShortest; }

 private:
  static constexpr Nanoseconds kShortest = 1'500;
  Nanoseconds start_ = os::now();
};

// A call on `fd` without the core. If the descriptor turns out not to wait, that is news.
template <class Call>
auto wait_on(int fd, const Call& call, const char* name = __builtin_FUNCTION()) {
  WaitTime time;
  auto result = without_core_anywhere(call, name);
  if (result < 0 && errno == EAGAIN) {
    forget(fd);
  } else {
    note_wait(fd, time.waited());
  }
  return result;
}

// By a hint: `waits()` is asked of managed threads only.
template <class Waits, class Call>
auto call_or_wait(int fd, const Waits& waits, const Call& call, bool sending = false,
                  const char* name = __builtin_FUNCTION()) {
  if (!can_park()) return undisturbed(call);
  self.polled = kNoDescriptor;
  if (waits()) return wait_on(fd, call, name);
  auto result = undisturbed(call);
  check_core(fd, sending);
  return result;
}

// By an attempt: a result of the kernel, or kWouldWait.
template <class Attempt, class Call>
auto attempt_or_wait(const Attempt& attempt, const Call& call,
                     const char* name = __builtin_FUNCTION()) -> decltype(call()) {
  if (!can_park()) return undisturbed(call);
  long result = attempt();
  if (result != kWouldWait) return static_cast<decltype(call())>(as_libc(result));
  return without_core_anywhere(call, name);
}

// As above, for a call that is a cancellation point.
template <class Attempt, class Call>
auto attempt_or_wait_cancellable(const Attempt& attempt, const Call& call,
                                 const char* name = __builtin_FUNCTION()) -> decltype(call()) {
  if (can_park()) test_cancel();
  return attempt_or_wait(attempt, call, name);
}

}  // namespace roost
