// pthread_once and call_once: libc's own; who finds the routine running elsewhere waits without the
// core.
//
// libc's word says 1 in its lowest bits while a thread runs the routine, above them which fork of
// the process that thread belongs to; it is woken by a futex wake of the word. A thread of another
// fork will never finish, so libc runs the routine again then, and nobody may wait.
#include <pthread.h>
#include <threads.h>

#include "os/sys.h"
#include "preload/blocking.h"

namespace roost {
namespace {

ROOST_BEHIND(int, pthread_once, pthread_once_t*, void (*)())

constexpr int kStateBits = 3;
constexpr int kRunning = 1;

constinit thread_local pthread_once_t probe __attribute__((tls_model("initial-exec"))) =
    PTHREAD_ONCE_INIT;
constinit thread_local int probed __attribute__((tls_model("initial-exec"))) = 0;

// What libc writes while a thread of this very process runs a routine.
int running_here() {
  probe = PTHREAD_ONCE_INIT;
  real_pthread_once(&probe, [] { probed = probe; });
  return probed;
}

int once(pthread_once_t* control, void (*routine)()) {
  for (;;) {
    int word = __atomic_load_n(control, __ATOMIC_ACQUIRE);
    if ((word & kStateBits) != kRunning || !can_park() || word != running_here()) break;
    without_core([&] {
      return os::futex_wait(control, static_cast<std::uint32_t>(word), os::FutexScope::process);
    });
  }
  return real_pthread_once(control, routine);
}

}  // namespace

ROOST_EXPORT int pthread_once(pthread_once_t* control, void (*routine)()) {
  return once(control, routine);
}
ROOST_ALSO(int, __pthread_once, pthread_once, pthread_once_t*, void (*)());
ROOST_EXPORT void call_once(once_flag* flag, void (*routine)()) {
  once(reinterpret_cast<pthread_once_t*>(flag), routine);
}

}  // namespace roost
