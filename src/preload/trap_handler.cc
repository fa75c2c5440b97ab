// The SIGSYS handler: serves a trapped call, or has the program make it again.
//
// The handler runs with the program's signal mask, so a call it serves is interrupted by the
// signals that would interrupt it, and returns as the kernel would. Every call that is not served,
// most of all one whose meaning hangs on registers, stack, mask or thread pointer (clone, vfork,
// sigaltstack, arch_prctl, munmap of the stack ...), is made from a stub after the handler's
// return, as if the signal had not been. rt_sigreturn goes through libc's instruction: it never
// returns.
#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "os/sys.h"
#include "preload/defer_cancellation.h"
#include "preload/futex.h"
#include "preload/light.h"
#include "preload/served_syscall.h"
#include "preload/spin_stub.h"
#include "preload/trap.h"
#include "preload/trap_signals.h"
#include "preload/trap_state.h"
#include "sched/runtime.h"
#include "spin/saved_call.h"

namespace roost {

#if defined(__x86_64__)
extern "C" {
// By trap_entry.S.
__attribute__((visibility("hidden"))) void roost_trap_return();
__attribute__((visibility("hidden"))) void roost_trap_pass(SpinFrame* frame);
}

namespace {

constexpr greg_t kInstructionBytes = 2;

using Site = std::atomic<std::uintptr_t>;
constexpr unsigned kPlainStubs = 256, kCloneStubs = 32;  // as in trap_stubs.S
extern "C" {
extern __attribute__((visibility("hidden"))) const char roost_plain_stubs[], roost_clone_stubs[],
    roost_fork_stubs[];
extern __attribute__((visibility("hidden"))) Site roost_plain_sites[kPlainStubs],
    roost_clone_sites[kCloneStubs], roost_fork_sites[kCloneStubs];
}
static_assert(offsetof(Self, record) == 0, "trap_stubs.S clears it");

// Each stub goes on at the address in its slot of `sites`, which belongs to it for good.
struct StubTable {
  const char* stubs;
  unsigned stub_bytes;
  Site* sites;
  unsigned count;  // a power of two

  // The stub for the call before `next`; null if the table is full.
  const char* stub_for(std::uintptr_t next) const {
    unsigned first = static_cast<unsigned>(next * 0x9e3779b97f4a7c15ull >> 40);
    for (unsigned tried = 0; tried < count; ++tried) {
      unsigned i = (first + tried) & (count - 1);
      std::uintptr_t site = sites[i].load(std::memory_order_acquire);
      if (site == 0 && sites[i].compare_exchange_strong(site, next, std::memory_order_acq_rel))
        site = next;
      if (site == next) return stubs + i * stub_bytes;
    }
    return nullptr;
  }
};
const StubTable plain{roost_plain_stubs, 32, roost_plain_sites, kPlainStubs};
const StubTable clones{roost_clone_stubs, 32, roost_clone_sites, kCloneStubs};
const StubTable forks{roost_fork_stubs, 64, roost_fork_sites, kCloneStubs};

// A child that shares neither memory nor a foreign thread pointer finds Roost's state and must be
// told that it is unmanaged.
const StubTable& table_for(const SystemCall& call) {
  std::uint64_t flags;
  if (!is_clone(call, flags)) return call.number == SYS_arch_prctl ? clones : plain;
  if (flags & CLONE_VM) futexes_may_wait_unseen();
  return flags & (CLONE_VM | CLONE_SETTLS) ? clones : forks;
}

// Goes back to the call's own place and lets it through; the trap is armed again at the thread's
// next scheduling point.
void make_again_in_place(greg_t* registers) {
  futexes_may_wait_unseen();
  os::let_calls_through();
  registers[REG_RIP] -= kInstructionBytes;
  roost_seen_epoch = kLookAgain;
}

void make_again(const SystemCall& call, greg_t* registers) {
  const char* stub = table_for(call).stub_for(static_cast<std::uintptr_t>(registers[REG_RIP]));
  if (!stub) return make_again_in_place(registers);
  os::let_calls_through();
  registers[REG_RIP] = os::arg(stub);
}

void serve(ucontext_t* context, const siginfo_t* info) {
  greg_t* registers = context->uc_mcontext.gregs;
  if (own_text.contains(static_cast<std::uintptr_t>(registers[REG_RIP]))) {
    // A signal handler armed the trap between a selector's change and the call it was for.
    os::let_calls_through();
    registers[REG_RIP] -= kInstructionBytes;
    return;
  }
  bool given_up = trap_state.load(std::memory_order_acquire) != TrapState::wanted;
  if (given_up || !self.record || info->si_arch != AUDIT_ARCH_X86_64) {
    make_again_in_place(registers);
    if (given_up) os::roost_trap_selector.armed = 0;
    return;
  }
  SystemCall call{registers[REG_RAX], registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                  registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  if (call.number == SYS_rt_sigreturn) {
    registers[REG_RIP] = os::arg(syscall_in_libc);
    return;
  }
  // The traps of siblings, which may run meanwhile, begin where this handler is: on the alternate
  // stack of the OS thread.
  if (is_light() && may_let_siblings_run(call) && spin::can_save_registers() &&
      !spin::on_alternate_stack(*context))
    return spin::go_on_by(&roost_trap_return, *context);
  long result;
  if (serve_syscall(call, result)) {
    registers[REG_RAX] = result;
    // The handler's mask is the program's, and so is a change of it.
    if (call.number == SYS_rt_sigprocmask)
      os::raw_syscall(SYS_rt_sigprocmask, 0, 0, os::arg(&context->uc_sigmask), 8);
    return;
  }
  if (trap_self.enabled) {
    make_again(call, registers);
  } else {
    registers[REG_RIP] -= kInstructionBytes;  // serving it has ended the trap
  }
}

}  // namespace

void roost_trap_pass(SpinFrame* frame) {
  int saved = errno;
  DeferCancellation guard;  // nothing unwinds through roost_trap_entry
  auto word = [](std::uint64_t value) { return static_cast<long>(value); };
  SystemCall call{word(frame->rax), word(frame->rdi), word(frame->rsi), word(frame->rdx),
                  word(frame->r10), word(frame->r8),  word(frame->r9)};
  long result;
  if (!serve_syscall(call, result)) result = made_in_kernel(call);
  frame->rax = static_cast<std::uint64_t>(result);
  errno = saved;
}

void on_sigsys(int, siginfo_t* info, void* data) {
  int saved = errno;
  if (info->si_code == kUserDispatch && trap_self.enabled) {
    trapped_calls.fetch_add(1, std::memory_order_relaxed);
    serve(static_cast<ucontext_t*>(data), info);
  } else {
    pass_on_sigsys(info, data);
  }
  errno = saved;
}
#else
void on_sigsys(int, siginfo_t* info, void* data) {
  int saved = errno;
  pass_on_sigsys(info, data);
  errno = saved;
}
#endif

}  // namespace roost
