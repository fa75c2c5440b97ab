// Who is left is counted by the kernel: a thread that has done its last may not be gone yet.
#include "preload/unshare.h"

#include <sched.h>
#include <sys/stat.h>
#include <time.h>

#include "os/sys.h"
#include "preload/real.h"
#include "preload/thread_cache.h"
#include "preload/wait.h"
#include "sched/keeper.h"

namespace roost {
namespace {

bool is_alone() {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

void sleep_a_moment() {
  timespec moment{0, 500'000};
  without_core([&] { return real::nanosleep(&moment, nullptr); });
}

}  // namespace

bool needs_single_thread(int flags) {
  return (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) != 0;
}

void end_own_threads() {
  constexpr Nanoseconds kLongest = 2'000'000'000;
  if (!runtime_active() || inside_roost() || !in_managed_process() || program_threads() > 1) return;
  Nanoseconds until = os::now() + kLongest;
  keeper_want_end(true);
  while (!is_alone() && os::now() < until) {
    cache_end_all();
    sleep_a_moment();
  }
  keeper_want_end(false);
}

ROOST_EXPORT int unshare(int flags) noexcept {
  return enter_alone(flags, [&] { return real::unshare(flags); });
}
ROOST_EXPORT int setns(int descriptor, int kind) noexcept {
  return enter_alone(kind ? kind : CLONE_NEWUSER, [&] { return real::setns(descriptor, kind); });
}

}  // namespace roost
