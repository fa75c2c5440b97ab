// Treats a system call as the wrapper of its name does.
//
// A futex wait is made in the kernel, with the core given away: its waker may be the kernel itself
// or code that Roost does not see, so the word must be waited on for real.
#include "preload/served_syscall.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "preload/affinity.h"
#include "preload/inherit.h"
#include "preload/process.h"
#include "preload/trap.h"
#include "preload/trap_signals.h"
#include "preload/wait.h"

namespace roost {
namespace {

// By libc's instruction, from where the kernel never traps: Roost's own calls let the inline ones of
// a signal handler that interrupts them go through.
long in_kernel(const SystemCall& s) {
  int saved = errno;
  long result = real::syscall(s.number, s.a, s.b, s.c, s.d, s.e, s.f);
  if (result == -1) result = -errno;
  errno = saved;
  return result;
}

bool futex_blocks(const SystemCall& s) {
  switch (s.b & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      // If the word has changed already it will not: the kernel judges the arguments.
      return __atomic_load_n(reinterpret_cast<std::uint32_t*>(s.a), __ATOMIC_RELAXED) ==
             static_cast<std::uint32_t>(s.c);
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
    case 13 /* FUTEX_LOCK_PI2 */:
      return true;
    default:
      return false;
  }
}

bool waits(const SystemCall& s) {
  switch (s.number) {
    case SYS_futex:
      return futex_blocks(s);
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case 449 /* futex_waitv */:
      return true;
    default:
      return false;
  }
}

// Reads what the kernel would read; false if it would say EFAULT. It reads a signal mask before it
// finds that -1 is no way to change one.
bool readable(long address) {
  return os::raw_syscall(SYS_rt_sigprocmask, -1, address, 0, 8) == -EINVAL;
}

bool affinity(const SystemCall& s, long& result) {
  auto pid = static_cast<pid_t>(s.a);
  auto bytes = static_cast<std::size_t>(s.b);
  if (inside_roost() || !affinity_is_ours(pid)) return false;
  if (s.number == SYS_sched_setaffinity) {
    result = -set_affinity_hint(pid, bytes, reinterpret_cast<void*>(s.c));
    return true;
  }
  // The kernel returns the bytes it wrote, never more than its own mask.
  if (bytes > 128) bytes = 128;
  int error = get_affinity_hint(pid, bytes, reinterpret_cast<void*>(s.c));
  result = error ? -error : static_cast<long>(bytes);
  return true;
}

}  // namespace

bool serve_syscall(const SystemCall& s, long& result) {
  if (waits(s)) {
    result = can_park() ? without_core([&] { return in_kernel(s); }) : in_kernel(s);
    return true;
  }
  switch (s.number) {
    case SYS_sched_yield:
      result = sched_yield();
      return true;
    case SYS_sched_setaffinity:
    case SYS_sched_getaffinity:
      return affinity(s, result);
    case SYS_rt_sigaction:
      if (!trap_configured() || s.d != 8 || (s.b && !(readable(s.b) && readable(s.b + 24))))
        return false;
      result = program_sigaction(static_cast<int>(s.a), s.b, s.c);
      return true;
    case SYS_rt_sigprocmask:
      if (!trap_configured() || s.d != 8 || (s.b && !readable(s.b))) return false;
      result = program_sigprocmask(static_cast<int>(s.a), s.b, s.c);
      return true;
    case SYS_prctl:
      before_prctl(static_cast<int>(s.a));
      return false;
    case SYS_seccomp:
      trap_give_up();
      never_reuse_this_thread();
      return false;
    case SYS_sigaltstack:
    case SYS_setpriority:
    case SYS_sched_setscheduler:
    case SYS_sched_setparam:
      never_reuse_this_thread();
      return false;
    case SYS_execve:
    case SYS_execveat:
      result = exec_in_kernel(
          [](const void* call) { return in_kernel(*static_cast<const SystemCall*>(call)); }, &s);
      return true;
    case SYS_exit_group:
      stop_process();
      return false;
    default:
      return false;
  }
}

}  // namespace roost
