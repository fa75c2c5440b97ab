// The program's view of SIGSYS, kept apart from the kernel's.
#include "preload/trap_signals.h"

#include <errno.h>
#include <string.h>

#include "os/sys.h"
#include "preload/fault_handlers.h"
#include "preload/handler_return.h"
#include "preload/in_handler.h"
#include "preload/kernel_action.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/signal_set.h"
#include "preload/stopped_threads.h"
#include "preload/trap.h"
#include "preload/trap_state.h"
#include "sched/self.h"

namespace roost {
namespace {

constexpr std::uint64_t kSigsys = os::kTraps;

// The kernel leaves them out of every mask.
constexpr std::uint64_t kNeverBlocked = signal_bit(SIGKILL) | signal_bit(SIGSTOP);

using os::KernelAction;
constexpr std::uintptr_t kDefault = 0, kIgnore = 1;

ROOST_LISTED constinit Real<int(int, const struct sigaction*, struct sigaction*)> real_sigaction{
    "sigaction"};
ROOST_LISTED constinit Real<int(int, const sigset_t*, sigset_t*)> real_pthread_sigmask{
    "pthread_sigmask"};
ROOST_LISTED constinit Real<int(sigset_t*)> real_sigpending{"sigpending"};

// The program's action for SIGSYS while ours is the process's. Fields change one by one; any
// mixture of two actions is one the handler can carry out.
struct View {
  std::atomic<std::uintptr_t> handler;
  std::atomic<unsigned long> flags;
  std::atomic<std::uint64_t> mask;
};
constinit View view{};
std::atomic<bool> owned{false};
std::atomic<bool> owning{false};
// The signals whose action the program gave SIGSYS in its mask. The kernel has it there until we
// own the signal [mask-1].
std::atomic<std::uint64_t> masks_with_sigsys{0};

std::uintptr_t address_of(sighandler_t handler) {
  return reinterpret_cast<std::uintptr_t>(handler);
}

KernelAction exchange_view(const KernelAction* action) {
  KernelAction old{view.handler.load(std::memory_order_relaxed),
                   view.flags.load(std::memory_order_relaxed), 0,
                   view.mask.load(std::memory_order_relaxed)};
  if (!action) return old;
  view.mask.store(action->mask & ~kNeverBlocked, std::memory_order_relaxed);
  view.flags.store(action->flags, std::memory_order_relaxed);
  view.handler.store(action->handler, std::memory_order_relaxed);
  return old;
}

// Whether the program's action for `signal` has SIGSYS in its mask, before and from now on.
bool exchange_mask(int signal, const std::uint64_t* mask) {
  std::uint64_t bit = signal_bit(signal);
  if (!mask) return masks_with_sigsys.load(std::memory_order_relaxed) & bit;
  return (*mask & kSigsys ? masks_with_sigsys.fetch_or(bit, std::memory_order_relaxed)
                          : masks_with_sigsys.fetch_and(~bit, std::memory_order_relaxed)) &
         bit;
}

// The kernel has refused what exchange_mask() has noted.
void restore_mask(int signal, bool had) {
  std::uint64_t mask = had ? kSigsys : 0;
  exchange_mask(signal, &mask);
}

// Takes SIGSYS out of the masks of all actions. No handler of this thread may interrupt it.
// [mask-1] The bit was set before the action was. So either we find both, or whoever sets the
// action finds afterwards that we have begun (must_set_again).
void strip_masks() {
  std::uint64_t signals = masks_with_sigsys.load(std::memory_order_seq_cst);
  for (; signals != 0; signals &= signals - 1) {
    int signal = __builtin_ctzll(signals) + 1;
    KernelAction action{};
    if (os::kernel_action(signal, nullptr, &action) != 0) continue;
    if (!(action.mask & kSigsys)) continue;
    action.mask &= ~kSigsys;
    os::kernel_action(signal, &action, nullptr);
  }
}

// What the kernel's masks do not show.
std::uint64_t hidden_in_masks() { return owned.load(std::memory_order_acquire) ? kSigsys : 0; }

// Whether an action that was set with `mask` is to be set once more, without SIGSYS.
bool must_set_again(std::uint64_t mask, std::uint64_t hidden) {
  if (hidden || !(mask & kSigsys) || !owning.load(std::memory_order_seq_cst)) return false;
  // Whoever is at it may have read what was there before; it is done after some system calls.
  for (unsigned spins = 0; !owned.load(std::memory_order_acquire) && spins < 1000; ++spins)
    os::yield();
  return true;
}

// Not in a child that shares our memory: its actions are its own.
bool owns(int signal) {
  return signal == SIGSYS && owned.load(std::memory_order_acquire) && in_managed_process();
}

bool install() {
  // No signal is blocked in the handler: it takes the interrupted code's place, waits included.
  // On the alternate stack where there is one: a runtime that has small stacks of its own needs it.
  struct sigaction action = {};
  action.sa_sigaction = on_sigsys;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | SA_ONSTACK;
  return real_sigaction(SIGSYS, &action, nullptr) == 0;
}

[[noreturn]] void die() {
  struct sigaction standard = {};
  real_sigaction(SIGSYS, &standard, nullptr);
  os::change_signal_mask(SIG_UNBLOCK, kSigsys);
  for (;;) os::tgkill(os::getpid(), os::gettid(), SIGSYS);
}

void believe(bool blocked) {
  trap_self.blocks_sigsys = blocked;
  if (blocked) {
    own_sigsys();  // one that is sent must find us
  } else if (trap_self.holds_sigsys) {
    trap_self.holds_sigsys = false;
    os::raw_syscall(SYS_rt_tgsigqueueinfo, os::getpid(), os::gettid(), SIGSYS,
                    os::arg(&trap_self.held));
  }
}

// After a change of the mask by `how` and `asked` went well.
void note_change(int how, std::uint64_t asked) {
  bool named = asked & kSigsys;
  if (how == SIG_SETMASK) {
    if (named != trap_self.blocks_sigsys) believe(named);
  } else if (named && (how == SIG_BLOCK) != trap_self.blocks_sigsys) {
    believe(how == SIG_BLOCK);
  }
}

// A handler may run with SIGSYS blocked by its action, and unblock it [mask-1].
std::uint64_t given_to_kernel(int how, std::uint64_t asked) {
  return how == SIG_UNBLOCK ? asked : asked & ~kSigsys;
}

int change_mask(int how, const sigset_t* set, sigset_t* old) {
  if (!trap_configured()) return real_pthread_sigmask(how, set, old);
  std::uint64_t asked = set ? word_of(*set) : 0;
  bool believed = trap_self.blocks_sigsys;
  sigset_t copy;
  if (set) {
    copy = *set;
    set_word(copy, given_to_kernel(how, asked));
  }
  int error = real_pthread_sigmask(how, set ? &copy : nullptr, old);
  if (error) return error;
  if (old && believed) set_word(*old, word_of(*old) | kSigsys);
  if (set) note_change(how, asked);
  return 0;
}

}  // namespace

bool own_sigsys() {
  if (!in_managed_process()) return false;
  // Whoever is at it needs a few instructions; a handler that interrupted it does without.
  for (unsigned spins = 0; owning.exchange(true, std::memory_order_acquire); ++spins) {
    if (owned.load(std::memory_order_acquire) || spins == 1000)
      return owned.load(std::memory_order_acquire);
    RealWorld::relax(spins);
  }
  std::uint64_t mask = os::kAllSignals;
  os::change_signal_mask(SIG_BLOCK, os::kAllSignals, &mask);
  KernelAction before{};
  os::kernel_action(SIGSYS, nullptr, &before);
  exchange_view(&before);
  bool done = install();
  if (done) strip_masks();
  owned.store(done, std::memory_order_release);
  if (!done) owning.store(false, std::memory_order_release);
  os::change_signal_mask(SIG_SETMASK, mask);
  return done;
}

void pass_on_sigsys(siginfo_t* info, void* context) {
  KernelAction action = exchange_view(nullptr);
  bool forced = info->si_code > 0;  // a seccomp filter's, say: the kernel ends who blocks it
  if (trap_self.blocks_sigsys && !forced) {
    trap_self.held = *info;
    trap_self.holds_sigsys = true;
    return;
  }
  if (action.handler == kIgnore && !forced) return;
  if (action.handler == kIgnore || action.handler == kDefault || trap_self.blocks_sigsys) die();
  if (action.flags & SA_RESETHAND) view.handler.store(kDefault, std::memory_order_relaxed);
  // The return from the signal undoes it. Under the program's own dispatch a call of ours might be
  // another SIGSYS.
  if (info->si_code != kUserDispatch) os::change_signal_mask(SIG_BLOCK, action.mask & ~kSigsys);
  reinterpret_cast<void (*)(int, siginfo_t*, void*)>(action.handler)(SIGSYS, info, context);
}

bool readable(long address) {
  // It reads the mask before it finds that -1 is no way to change one.
  return os::raw_syscall(SYS_rt_sigprocmask, -1, address, 0, 8) == -EINVAL;
}

void hide_blocked_sigsys() {
  std::uint64_t before = 0;
  os::change_signal_mask(SIG_UNBLOCK, kSigsys, &before);
  if (before & kSigsys) believe(true);
}

int program_sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  if (!trap_configured() || signal < 1 || signal > 64) return lead_action(signal, action, old);
  if (owns(signal)) {
    KernelAction wanted = action ? in_kernel_form(*action) : KernelAction{};
    KernelAction before = exchange_view(action ? &wanted : nullptr);
    if (old) *old = in_libc_form(before);
    return 0;
  }
  std::uint64_t mask = action ? word_of(action->sa_mask) : 0;
  bool had = exchange_mask(signal, action ? &mask : nullptr);
  auto set = [&](std::uint64_t hidden, struct sigaction* before) {
    struct sigaction copy;
    if (action) {
      copy = *action;
      set_word(copy.sa_mask, mask & ~hidden);
    }
    return lead_action(signal, action ? &copy : nullptr, before);
  };
  std::uint64_t hidden = hidden_in_masks();
  int result = set(hidden, old);
  if (result != 0) {
    if (action) restore_mask(signal, had);
    return result;
  }
  if (must_set_again(mask, hidden)) set(kSigsys, nullptr);
  if (old && had) set_word(old->sa_mask, word_of(old->sa_mask) | kSigsys);
  return 0;
}

long program_rt_sigaction(int signal, long action, long old) {
  auto* wanted = reinterpret_cast<const KernelAction*>(action);
  auto* before = reinterpret_cast<KernelAction*>(old);
  if (owns(signal)) {
    KernelAction was = exchange_view(wanted);
    if (before) *before = was;
    return 0;
  }
  std::uint64_t mask = wanted ? wanted->mask : 0;
  bool had = exchange_mask(signal, wanted ? &mask : nullptr);
  HandlerChange change(signal);
  KernelAction led = wanted ? *wanted : KernelAction{};
  if (wanted && is_function(handler_in(*wanted)))
    note_handler(signal, static_cast<int>(wanted->flags));
  if (wanted) led.handler = address_of(change.lead(handler_in(*wanted)));
  auto set = [&](std::uint64_t hidden, long to) {
    KernelAction copy = led;
    copy.mask &= ~hidden;
    return os::raw_syscall(SYS_rt_sigaction, signal, wanted ? os::arg(&copy) : 0, to, 8);
  };
  std::uint64_t hidden = hidden_in_masks();
  long result = set(hidden, old);
  if (result != 0) {
    if (wanted) restore_mask(signal, had);
    return result;
  }
  if (must_set_again(mask, hidden)) set(kSigsys, 0);
  if (before && had) before->mask |= kSigsys;
  if (before) before->handler = address_of(change.before(handler_in(*before)));
  return 0;
}

long program_rt_sigprocmask(int how, long set, long old) {
  std::uint64_t asked = 0;
  if (set) memcpy(&asked, reinterpret_cast<const void*>(set), sizeof asked);
  std::uint64_t given = given_to_kernel(how, asked);
  bool believed = trap_self.blocks_sigsys;
  long result = os::raw_syscall(SYS_rt_sigprocmask, how, set ? os::arg(&given) : 0, old, 8);
  if (result != 0) return result;
  if (old && believed) *reinterpret_cast<std::uint64_t*>(old) |= kSigsys;
  if (set) note_change(how, asked);
  return 0;
}

const sigset_t* wait_mask(const sigset_t* mask, sigset_t& copy) {
  if (!mask || !trap_configured() || !readable(os::arg(mask)) || !(word_of(*mask) & kSigsys))
    return mask;
  // The kernel's masks are one word; the rest of libc's is not looked at.
  set_word(copy, word_of(*mask) & ~kSigsys);
  return &copy;
}

std::uint64_t believed_mask(std::uint64_t mask) {
  return trap_self.blocks_sigsys ? mask | kSigsys : mask;
}

std::uint64_t take_believed_mask(std::uint64_t mask) {
  if (!trap_configured()) return mask;
  note_change(SIG_SETMASK, mask);
  return mask & ~kSigsys;
}

AsTheProgramBelieves::AsTheProgramBelieves() {
  if (!trap_configured()) return;
  if (trap_self.blocks_sigsys) {
    if (in_managed_process()) trap_thread_pauses();
    blocked_ = true;
    os::change_signal_mask(SIG_BLOCK, kSigsys);
  }
  if (owned.load(std::memory_order_acquire) &&
      view.handler.load(std::memory_order_relaxed) == kIgnore) {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ignored_ = real_sigaction(SIGSYS, &ignore, nullptr) == 0;
  }
}

AsTheProgramBelieves::~AsTheProgramBelieves() {
  if (ignored_) install();
  if (blocked_) {
    os::change_signal_mask(SIG_UNBLOCK, kSigsys);
    if (in_managed_process()) trap_thread_resumes();
  }
}

ROOST_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_mask(how, set, old);
}
ROOST_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  int error = change_mask(how, set, old);
  if (error == 0) return 0;
  errno = error;
  return -1;
}
ROOST_EXPORT int sigpending(sigset_t* set) noexcept {
  int result = real_sigpending(set);
  if (result == 0 && trap_self.holds_sigsys) set_word(*set, word_of(*set) | kSigsys);
  return result;
}

}  // namespace roost
