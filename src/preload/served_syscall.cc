// Treats a system call as the wrapper of its name does.
#include "preload/served_syscall.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "preload/affinity.h"
#include "preload/descriptor.h"
#include "preload/futex.h"
#include "preload/inherit.h"
#include "preload/nudge.h"
#include "preload/process.h"
#include "preload/realtime.h"
#include "preload/syscall_wait.h"
#include "preload/trap.h"
#include "preload/trap_signals.h"
#include "preload/unshare.h"
#include "preload/wait.h"

namespace roost {
namespace {

constexpr long kLandlockRestrictSelf = 446;

// A wait with a signal mask is made with one that does not block SIGSYS.
struct Mask {
  long address;
  long bytes;
};
long wait_in_kernel(SystemCall s) {
  sigset_t copy;
  Mask pair;
  auto unblock = [&](long& mask, long bytes) {
    if (bytes == 8) mask = os::arg(wait_mask(reinterpret_cast<const sigset_t*>(mask), copy));
  };
  switch (s.number) {
    case SYS_rt_sigsuspend:
      unblock(s.a, s.b);
      break;
    case SYS_ppoll:
      unblock(s.d, s.e);
      break;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      unblock(s.e, s.f);
      break;
    case SYS_pselect6:
      if (!s.f || !readable(s.f) || !readable(s.f + 8)) break;
      memcpy(&pair, reinterpret_cast<const void*>(s.f), sizeof pair);
      unblock(pair.address, pair.bytes);
      s.f = os::arg(&pair);
      break;
    default:
      break;
  }
  return without_core([&] { return made_in_kernel(s); });
}

bool affinity(const SystemCall& s, long& result) {
  auto pid = static_cast<pid_t>(s.a);
  auto bytes = static_cast<std::size_t>(s.b);
  if (inside_roost() || !affinity_is_ours(pid)) return false;
  if (s.number == SYS_sched_setaffinity) {
    result = -set_affinity_hint(pid, bytes, reinterpret_cast<void*>(s.c));
    return true;
  }
  result = get_affinity_hint(pid, bytes, reinterpret_cast<void*>(s.c));
  return true;
}

}  // namespace

long made_in_kernel(const SystemCall& s) {
  int saved = errno;
  long result = real::syscall(s.number, s.a, s.b, s.c, s.d, s.e, s.f);
  if (result == -1) result = -errno;
  errno = saved;
  return result;
}

bool is_clone(const SystemCall& call, std::uint64_t& flags) {
  flags = 0;
  switch (call.number) {
#if defined(__x86_64__)
    case SYS_fork:
      return true;
    case SYS_vfork:
      flags = CLONE_VM | CLONE_VFORK;
      return true;
#endif
    case SYS_clone:
      flags = static_cast<std::uint64_t>(call.a);
      return true;
    case SYS_clone3:  // its arguments' first
      if (readable(call.a)) memcpy(&flags, reinterpret_cast<const void*>(call.a), sizeof flags);
      return true;
    default:
      return false;
  }
}

bool may_let_siblings_run(const SystemCall& s) {
  return s.number == SYS_futex || s.number == SYS_sched_yield ||
         syscall_may_wait(s.number, {s.a, s.b, s.c, s.d, s.e, s.f});
}

bool serve_syscall(const SystemCall& s, long& result) {
  if (s.number == SYS_futex) {
    result = serve_futex(s);
    return true;
  }
  if (s.number == SYS_futex_waitv) futexes_may_wait_unseen();
  if (syscall_may_wait(s.number, {s.a, s.b, s.c, s.d, s.e, s.f})) {
    result = wait_in_kernel(s);
    return true;
  }
  if (syscall_may_end_early(s.number)) {
    result = undisturbed([&] { return made_in_kernel(s); });
    return true;
  }
  switch (s.number) {
    case SYS_io_uring_setup:
      futexes_may_wait_unseen();
      return false;
    case SYS_close:
      forget(static_cast<int>(s.a));
      return false;
#if defined(__x86_64__)
    case SYS_dup2:
#endif
    case SYS_dup3:
      forget(static_cast<int>(s.b));
      return false;
    case SYS_sched_yield:
      result = sched_yield();
      return true;
    case SYS_sched_setaffinity:
    case SYS_sched_getaffinity:
      return affinity(s, result);
    case SYS_rt_sigaction:
      if (!trap_configured() || s.d != 8 || (s.b && !(readable(s.b) && readable(s.b + 24))))
        return false;
      if (s.b) nudges_give_up(static_cast<int>(s.a));
      result = program_rt_sigaction(static_cast<int>(s.a), s.b, s.c);
      return true;
    case SYS_rt_sigprocmask:
      if (!trap_configured() || s.d != 8 || (s.b && !readable(s.b))) return false;
      result = program_rt_sigprocmask(static_cast<int>(s.a), s.b, s.c);
      return true;
    case SYS_prctl:
      before_prctl(static_cast<int>(s.a), static_cast<unsigned long>(s.b));
      return false;
    case SYS_seccomp:
      if (s.a <= 1) before_seccomp();  // else it only asks
      return false;
    case SYS_sigaltstack:
      never_reuse_this_thread();
      return false;
    case SYS_setpriority:
    case SYS_ioprio_set:
    case SYS_set_mempolicy:
    case SYS_personality:
    case SYS_capset:
    case SYS_keyctl:
    case SYS_pkey_alloc:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setgroups:
    case kLandlockRestrictSelf:
#if defined(__x86_64__)
    case SYS_arch_prctl:
#endif
      never_reuse_for_this_thread();
      return false;
    case SYS_unshare:
      result = enter_alone(static_cast<int>(s.a), [&] { return made_in_kernel(s); });
      return true;
    case SYS_setns:
      result = enter_alone(s.b ? static_cast<int>(s.b) : CLONE_NEWUSER,
                           [&] { return made_in_kernel(s); });
      return true;
    case SYS_sched_setparam:
      note_policy_set(static_cast<std::int32_t>(s.a));
      return false;
    case SYS_sched_setscheduler:
    case SYS_sched_setattr:
      note_policy_set(static_cast<std::int32_t>(s.a));
      result = made_in_kernel(s);
      if (result >= 0) policy_changed(static_cast<std::int32_t>(s.a));
      return true;
    case SYS_execve:
    case SYS_execveat:
      result = exec_in_kernel(
          [](const void* call) { return made_in_kernel(*static_cast<const SystemCall*>(call)); },
          &s);
      return true;
    case SYS_clone:
    case SYS_clone3:
#if defined(__x86_64__)
    case SYS_fork:
    case SYS_vfork:
#endif
      // Whom it makes inherits the affinity, and may execute what is never managed. The next core
      // pins the thread again.
      if (self.record && in_managed_process()) unpin_self();
      if (std::uint64_t flags; is_clone(s, flags) && shares_memory_as_process(flags))
        processes_may_share_memory();
      return false;
    case SYS_exit:
      // Of this thread alone, and past libc: Roost hears no more of it.
      trap_thread_ends();
      if (can_park() && in_managed_process()) {
        bool last = thread_ends_past_libc();
        thread_detach();
        // Else the process would end with the last of those, and with that one's status.
        if (last) end_own_threads_after_detach();
      }
      return false;
    case SYS_exit_group:
      stop_process();
      return false;
    default:
      return false;
  }
}

}  // namespace roost
