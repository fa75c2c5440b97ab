// Signal mask, floating-point modes and name as clone(2) would have passed them on.
#include "preload/inherit.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/ticks.h"
#include "os/sys.h"
#include "preload/process.h"
#include "preload/signal_stack.h"
#include "preload/trap.h"
#include "preload/trap_signals.h"
#include "preload/unshare.h"
#include "preload/wait.h"
#include "roost/roost.h"

namespace roost {
namespace {

std::atomic<bool> names_in_use{false};

}  // namespace

void note_thread_name_set() { names_in_use.store(true, std::memory_order_relaxed); }

Inherited inherited_state() {
  Inherited state{};
  os::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, 0, os::arg(&state.signal_mask), 8);
  state.signal_mask = believed_mask(state.signal_mask);
#if defined(__x86_64__)
  asm volatile("stmxcsr %0" : "=m"(state.mxcsr));
  asm volatile("fnstcw %0" : "=m"(state.x87_control));
#elif defined(__aarch64__)
  std::uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  state.mxcsr = static_cast<std::uint32_t>(fpcr);
#endif
  if (names_in_use.load(std::memory_order_relaxed)) {
    os::raw_syscall(SYS_prctl, PR_GET_NAME, os::arg(state.name));
  }
  return state;
}

void apply_inherited(const Inherited& state) {
#if defined(__x86_64__)
  std::uint32_t control = state.mxcsr & ~0x3fu;  // a new thread starts without exception flags
  asm volatile("fninit");
  asm volatile("fldcw %0" : : "m"(state.x87_control));
  asm volatile("ldmxcsr %0" : : "m"(control));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(static_cast<std::uint64_t>(state.mxcsr)));
#endif
  if (state.name[0]) os::raw_syscall(SYS_prctl, PR_SET_NAME, os::arg(state.name));
  set_signal_mask(state.signal_mask);
}

void set_signal_mask(std::uint64_t mask) {
  os::change_signal_mask(SIG_SETMASK, take_believed_mask(mask));
}

void block_signals() { os::change_signal_mask(SIG_SETMASK, os::kAllSignals); }

bool signals_pending() {
  std::uint64_t pending = 0;
  os::raw_syscall(SYS_rt_sigpending, os::arg(&pending), 8);
  return pending != 0;
}

void discard_own_signals() {
  while (signals_pending()) {
    // The process's pending signals stay: only the thread's own are named in SigPnd (proc(5)).
    std::uint64_t own = os::own_pending_signals();
    if (own == 0) return;
    timespec at_once{};
    if (os::raw_syscall(SYS_rt_sigtimedwait, os::arg(&own), 0, os::arg(&at_once), 8) < 0) return;
  }
}

void before_seccomp() {
  trap_give_up();
  never_reuse_for_this_thread();
  if (!self.record || !in_managed_process() || is_light()) return;
  bool alone = program_threads() == 1;
  roost_detach();
  // Under a filter, nothing can be done about them when it ends, nor about the instance.
  if (alone) {
    end_own_threads_after_detach();
    stop_process();
  } else {
    runtime_restrict();
  }
}

// Also for threads that may read it still: one answer for the process.
static void forbid_counter() {
  instead_of_counter.store([] { return os::now(); }, std::memory_order_relaxed);
}

void before_prctl(int option, unsigned long argument) {
  switch (option) {
    case PR_SET_NAME:
      note_thread_name_set();
      break;
    case PR_GET_NAME:
    case PR_SET_DUMPABLE:
    case PR_GET_DUMPABLE:
    case PR_GET_PDEATHSIG:
    case PR_SET_VMA:
      break;
    case PR_SET_PDEATHSIG:
      never_reuse_this_thread();
      break;
    case PR_SET_SECCOMP:
      before_seccomp();
      break;
    case PR_SET_SYSCALL_USER_DISPATCH:
      trap_give_up();
      never_reuse_for_this_thread();
      break;
    case PR_SET_TSC:
      if (argument == PR_TSC_SIGSEGV) forbid_counter();
      never_reuse_for_this_thread();
      break;
    default:
      never_reuse_for_this_thread();  // timer slack, capabilities ...
  }
}

ROOST_EXPORT int pthread_setname_np(pthread_t thread, const char* name) {
  note_thread_name_set();
  return real::pthread_setname_np(thread, name);
}

ROOST_EXPORT int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
  unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
  va_end(list);
  before_prctl(option, a);
  return real::prctl(option, a, b, c, d);
}

// State of the kernel thread that a fresh one would not have: such a thread is not reused.
ROOST_EXPORT int sigaltstack(const stack_t* stack, stack_t* old) noexcept {
  if (stack && !(stack->ss_flags & SS_DISABLE)) never_reuse_this_thread();
  long error = program_sigaltstack(stack, old);
  if (error) errno = static_cast<int>(-error);
  return error ? -1 : 0;
}
ROOST_EXPORT int setpriority(__priority_which_t which, id_t who, int value) noexcept {
  never_reuse_for_this_thread();
  return real::setpriority(static_cast<int>(which), who, value);
}
ROOST_EXPORT int nice(int increment) noexcept {
  never_reuse_for_this_thread();
  return real::nice(increment);
}
ROOST_EXPORT int setfsuid(uid_t id) noexcept {
  never_reuse_for_this_thread();
  return real::setfsuid(id);
}
ROOST_EXPORT int setfsgid(gid_t id) noexcept {
  never_reuse_for_this_thread();
  return real::setfsgid(id);
}
ROOST_EXPORT int personality(unsigned long persona) noexcept {
  never_reuse_for_this_thread();
  return real::personality(persona);
}
// The protection keys' register is inherited, too, and set by an instruction.
ROOST_EXPORT int pkey_alloc(unsigned flags, unsigned access) noexcept {
  never_reuse_for_this_thread();
  return real::pkey_alloc(flags, access);
}
// libc's headers do not have them.
ROOST_EXPORT int capset(void* header, const void* data) noexcept {
  never_reuse_for_this_thread();
  return real::capset(header, data);
}
#if defined(__x86_64__)
ROOST_EXPORT int arch_prctl(int code, unsigned long address) noexcept {
  never_reuse_for_this_thread();
  return real::arch_prctl(code, address);
}
#endif

}  // namespace roost
