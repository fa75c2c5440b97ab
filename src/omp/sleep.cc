// Sleeping for a time, for members that share an OS thread where Roost does not see to it: one that
// looks now and then whether a sibling has done something would sleep for ever. Siblings run
// meanwhile; what is left of the time then is libc's own sleep.
#include <dlfcn.h>
#include <threads.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "omp/export.h"
#include "omp/siblings.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

constexpr long kSecond = 1'000'000'000;  // ns

using ClockSleep = int(clockid_t clock, int flags, const timespec* time, timespec* left);

constinit std::atomic<ClockSleep*> next_sleep{nullptr};

// As this library is loaded: a handler that leaves a sleep by a jump must not find its thread
// within the linker, whose lock nobody would unlock.
[[gnu::constructor]] void find_next_sleep() {
  next_sleep.store(reinterpret_cast<ClockSleep*>(dlsym(RTLD_NEXT, "clock_nanosleep")),
                   std::memory_order_relaxed);
}

// Libc's, or Roost's. It says which error there was, as the function of that name does.
int sleep_on(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (!next_sleep.load(std::memory_order_relaxed)) find_next_sleep();
  ClockSleep* next = next_sleep.load(std::memory_order_relaxed);
  return next ? next(clock, flags, time, left) : ENOSYS;
}

timespec to_timespec(long nanoseconds) { return {nanoseconds / kSecond, nanoseconds % kSecond}; }

long until(clockid_t clock, const timespec& at) {
  timespec now;
  clock_gettime(clock, &now);
  return (at.tv_sec - now.tv_sec) * kSecond + (at.tv_nsec - now.tv_nsec);
}

// Until `at`. One that polls so looks for siblings that have become ready once a while, more seldom
// the longer it has slept.
int sleep_beside_siblings(ult::Carrier& own, clockid_t clock, const timespec& at) {
  constexpr long kLookEvery = 200'000, kLookAtLeast = 4'000'000;  // ns
  long left = until(clock, at);
  const long whole = left;
  bool looks = left > 0 && polls(own, static_cast<Nanoseconds>(left));
  // The next time each member gets a thread of its own, unless it only looks at something often:
  // light siblings change that soonest.
  if (looks && left >= kLookEvery)
    own.current->inside->blocks.store(true, std::memory_order_relaxed);
  for (; left > 0; left = until(clock, at)) {
    if (looks && ult::light_event(ROOST_LIGHT_YIELDS)) left = until(clock, at);
    if (left <= 0) break;
    long nap = std::clamp((whole - left) / 8, kLookEvery, kLookAtLeast);
    timespec time = to_timespec(looks ? std::min(nap, left) : left);
    own.interrupted = false;
    int error = sleep_on(CLOCK_MONOTONIC, 0, &time, nullptr);
    if (error && !(error == EINTR && own.interrupted)) return error;
  }
  return 0;
}

bool is_valid(const timespec& time) {
  return time.tv_sec >= 0 && time.tv_nsec >= 0 && time.tv_nsec < kSecond;
}

// As clock_nanosleep().
int sleep_for(clockid_t clock, int flags, const timespec* time, timespec* left) {
  ult::Carrier* own = carrier_inside();
  timespec at;
  bool alone =
      !own || ult::host::with_roost() || !time ||
      !ult::kernel::read_own_memory(reinterpret_cast<std::uintptr_t>(time), &at, sizeof at);
  bool ours = !alone && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && is_valid(at) &&
              at.tv_sec < (1L << 32);
  if (!ours) return sleep_on(clock, flags, time, left);
  if (!(flags & TIMER_ABSTIME)) {
    clock = CLOCK_MONOTONIC;
    timespec now;
    clock_gettime(clock, &now);
    at = {now.tv_sec + at.tv_sec, now.tv_nsec + at.tv_nsec};
    if (at.tv_nsec >= kSecond) at = {at.tv_sec + 1, at.tv_nsec - kSecond};
  }
  int error = sleep_beside_siblings(*own, clock, at);
  if (error == EINTR && left && !(flags & TIMER_ABSTIME)) {
    long rest = until(clock, at);
    *left = to_timespec(rest > 0 ? rest : 0);
  }
  return error;
}

// The same, with the error in errno.
int sleep_or_errno(const timespec* time, timespec* left) {
  int error = sleep_for(CLOCK_REALTIME, 0, time, left);
  if (!error) return 0;
  errno = error;
  return -1;
}

}  // namespace

extern "C" {
ROOST_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  return sleep_for(clock, flags, time, left);
}

ROOST_EXPORT int nanosleep(const timespec* time, timespec* left) {
  return sleep_or_errno(time, left);
}

ROOST_EXPORT int usleep(useconds_t microseconds) {
  timespec time{microseconds / 1'000'000, static_cast<long>(microseconds % 1'000'000) * 1000};
  return sleep_or_errno(&time, nullptr);
}

ROOST_EXPORT unsigned sleep(unsigned seconds) {
  timespec time{seconds, 0}, left{};
  if (sleep_or_errno(&time, &left) == 0) return 0;
  return static_cast<unsigned>(left.tv_sec);  // as glibc: whole seconds
}

ROOST_EXPORT int thrd_sleep(const timespec* time, timespec* left) {
  int error = sleep_for(CLOCK_REALTIME, 0, time, left);
  if (!error) return 0;
  return error == EINTR ? -1 : -2;
}
}

}  // namespace roost::omp
