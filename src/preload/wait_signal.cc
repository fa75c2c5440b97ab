// Waiting for signals.
#include <signal.h>

#include "preload/blocking.h"
#include "preload/trap_signals.h"

namespace roost {
namespace {

ROOST_BEHIND(int, sigwait, const sigset_t*, int*)
ROOST_BEHIND(int, sigwaitinfo, const sigset_t*, siginfo_t*)
ROOST_BEHIND(int, sigtimedwait, const sigset_t*, siginfo_t*, const timespec*)
ROOST_BEHIND(int, sigsuspend, const sigset_t*)
ROOST_BEHIND(int, pause)

// A signal of the set that is pending already, taken; -1 if there is none. libc's own call: it
// hides its own signals from the set, and acts on cancellation.
int take_pending(const sigset_t* set, siginfo_t* info) {
  constexpr timespec kAtOnce{};
  int saved = errno;
  int taken = real_sigtimedwait(set, info, &kAtOnce);
  errno = saved;
  return taken;
}

}  // namespace

ROOST_EXPORT int sigwait(const sigset_t* set, int* number) {
  auto call = [&] { return real_sigwait(set, number); };
  if (!can_park()) return call();
  int taken = take_pending(set, nullptr);
  if (taken < 0) return without_core(call);
  *number = taken;
  return 0;
}
ROOST_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  auto call = [&] { return real_sigwaitinfo(set, info); };
  if (!can_park()) return call();
  int taken = take_pending(set, info);
  return taken >= 0 ? taken : without_core(call);
}
ROOST_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  auto call = [&] { return real_sigtimedwait(set, info, timeout); };
  if (!can_park() || !asks_to_wait(timeout)) return call();
  int taken = take_pending(set, info);
  return taken >= 0 ? taken : without_core(call);
}

// Nearly always wait: asking first would only cost.
ROOST_EXPORT int sigsuspend(const sigset_t* set) {
  sigset_t copy;
  return without_core([&] { return real_sigsuspend(wait_mask(set, copy)); });
}
ROOST_ALSO(int, __sigsuspend, sigsuspend, const sigset_t*);
ROOST_EXPORT int pause() {
  return without_core([] { return real_pause(); });
}

}  // namespace roost
