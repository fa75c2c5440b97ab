// Spin locks, and sleeping for a time.
//
// A sleep gives the core away and is libc's own call, so its result, EINTR and cancellation are
// libc's.
#include <errno.h>

#include "preload/light.h"
#include "preload/wait.h"
#include "preload/yield.h"

namespace roost {
ROOST_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  // The holder is at work on another core, or READY behind us, or a light thread of this thread's:
  // then only a yield helps.
  constexpr unsigned kSpinsBeforeYield = 100;
  for (unsigned spins = 0;; ++spins) {
    if (real::pthread_spin_trylock(lock) == 0) return 0;
    if (spins < kSpinsBeforeYield) {
      cpu_pause();
    } else if (!let_light_sibling_run()) {
      yield();
    }
  }
}

ROOST_EXPORT int nanosleep(const timespec* time, timespec* left) {
  return without_core_anywhere([&] { return real::nanosleep(time, left); });
}
ROOST_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  return without_core_anywhere([&] { return real::clock_nanosleep(clock, flags, time, left); });
}
ROOST_EXPORT int usleep(useconds_t time) {
  return without_core_anywhere([&] { return real::usleep(time); });
}
ROOST_EXPORT unsigned sleep(unsigned time) {
  return without_core_anywhere([&] { return real::sleep(time); });
}
ROOST_EXPORT int thrd_sleep(const timespec* time, timespec* left) {
  int result =
      without_core_anywhere([&] { return real::clock_nanosleep(CLOCK_REALTIME, 0, time, left); });
  if (result == 0) return 0;
  return result == EINTR ? -1 : -2;
}

}  // namespace roost
