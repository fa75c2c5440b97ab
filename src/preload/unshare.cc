// Who is left is counted by the kernel: a thread that has done its last may not be gone yet.
#include "preload/unshare.h"

#include <sched.h>
#include <time.h>

#include "os/sys.h"
#include "preload/real.h"
#include "preload/thread_cache.h"
#include "preload/wait.h"
#include "sched/keeper.h"

namespace roost {
namespace {

// A first thread that has ended before the others is still listed.
bool is_alone() {
  unsigned listed = os::listed_threads();
  // In a root without /proc: a call that does nothing for who is alone, and fails for others.
  if (listed == 0) return os::raw_syscall(SYS_unshare, CLONE_THREAD) == 0;
  pid_t pid = os::getpid();
  bool first_ended = os::gettid() != pid && os::thread_run_state(pid, pid) == 'Z';
  return listed == (first_ended ? 2 : 1);
}

void sleep_a_moment() {
  timespec moment{0, 500'000};
  without_core([&] { return real::nanosleep(&moment, nullptr); });
}

template <class Sleep>
void await_end_of_own_threads(const Sleep& sleep) {
  constexpr Nanoseconds kLongest = 2'000'000'000;
  Nanoseconds until = os::now() + kLongest;
  keeper_want_end(true);
  while (!is_alone() && os::now() < until) {
    cache_end_all();
    sleep();
  }
  keeper_want_end(false);
}

}  // namespace

bool needs_single_thread(int flags) {
  return (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) != 0;
}

void end_own_threads() {
  if (!runtime_active() || inside_roost() || !in_managed_process() || program_threads() > 1) return;
  await_end_of_own_threads(sleep_a_moment);
}

void end_own_threads_after_detach() {
  await_end_of_own_threads([] { os::sleep_for(500'000); });
}

ROOST_EXPORT int unshare(int flags) noexcept {
  return enter_alone(flags, [&] { return real::unshare(flags); });
}
ROOST_EXPORT int setns(int descriptor, int kind) noexcept {
  // These share the threads' root and working directory, and their clocks.
  constexpr int kOfProcess = CLONE_NEWNS | CLONE_NEWTIME;
  return enter_alone(kind && !(kind & kOfProcess) ? kind : CLONE_NEWUSER,
                     [&] { return real::setns(descriptor, kind); });
}

}  // namespace roost
