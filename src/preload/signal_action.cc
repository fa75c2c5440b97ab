// What the program does about signals: sigaction and the older calls, two signals of which Roost
// uses itself (nudge.h, trap_signals.h).
#include <errno.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

#include "preload/fault_handlers.h"
#include "preload/in_handler.h"
#include "preload/nudge.h"
#include "preload/real.h"
#include "preload/signal_set.h"
#include "preload/trap_signals.h"

namespace roost {
namespace {

// Signals that interrupt calls for good, where signal() sets their handler (siginterrupt(3)).
constinit std::atomic<std::uint64_t> interrupting{0};

constexpr sigset_t kNone{};

int set_action(int signal, const struct sigaction* action, struct sigaction* before) {
  if (nudges_answer(signal, action, before)) return 0;
  HandlerChange change(signal);
  struct sigaction led;
  if (action) {
    if (is_function(action->sa_handler)) {
      // One that jumps must not find its thread within the linker, whose lock nobody would unlock.
      resolve_libc_functions();
      note_handler(signal, action->sa_flags);
    }
    led = *action;
    led.sa_handler = change.lead(action->sa_handler);
  }
  int result = program_sigaction(signal, action ? &led : nullptr, before);
  if (result == 0 && before) before->sa_handler = change.before(before->sa_handler);
  return result;
}

int set_action(int signal, sighandler_t handler, int flags, const sigset_t& mask,
               struct sigaction& before) {
  struct sigaction wanted = {};
  wanted.sa_handler = handler;
  wanted.sa_flags = flags;
  wanted.sa_mask = mask;
  return set_action(signal, &wanted, &before);
}
// As the older calls do: what was there before.
sighandler_t set_handler(int signal, sighandler_t handler, int flags, const sigset_t& mask) {
  struct sigaction found;
  return set_action(signal, handler, flags, mask, found) == 0 ? found.sa_handler : SIG_ERR;
}

bool refuses(int signal, sighandler_t handler) {
  if (handler != SIG_ERR && is_signal(signal)) return false;
  errno = EINVAL;
  return true;
}

sigset_t only(int signal) { return set_of(signal_bit(signal)); }

}  // namespace

ROOST_EXPORT int sigaction(int signal, const struct sigaction* action,
                           struct sigaction* before) noexcept {
  return set_action(signal, action, before);
}
extern "C" __attribute__((visibility("default"), alias("sigaction"))) int __sigaction(
    int signal, const struct sigaction* action, struct sigaction* before) noexcept;

// The older calls are made of it, as libc's are, which reach libc's own past us.
ROOST_EXPORT sighandler_t signal(int signal, sighandler_t handler) noexcept {
  if (refuses(signal, handler)) return SIG_ERR;
  bool interrupts = interrupting.load(std::memory_order_relaxed) & signal_bit(signal);
  return set_handler(signal, handler, interrupts ? 0 : SA_RESTART, only(signal));
}
extern "C" {
__attribute__((visibility("default"), alias("signal"))) sighandler_t bsd_signal(
    int signal, sighandler_t handler) noexcept;
__attribute__((visibility("default"), alias("signal"))) sighandler_t ssignal(
    int signal, sighandler_t handler) noexcept;
}

// A handler for one time.
ROOST_EXPORT sighandler_t sysv_signal(int signal, sighandler_t handler) noexcept {
  constexpr int kInterrupt = 0x20000000;  // SA_INTERRUPT: without meaning, but asked for
  if (refuses(signal, handler)) return SIG_ERR;
  return set_handler(signal, handler, SA_RESETHAND | SA_NODEFER | kInterrupt, kNone);
}
extern "C" __attribute__((visibility("default"), alias("sysv_signal"))) sighandler_t __sysv_signal(
    int signal, sighandler_t handler) noexcept;

ROOST_EXPORT sighandler_t sigset(int signal, sighandler_t handler) noexcept {
  if (refuses(signal, SIG_DFL)) return SIG_ERR;
  const sigset_t set = only(signal);
  sigset_t blocked;
  struct sigaction before;
  bool holds = handler == SIG_HOLD;
  if (!holds && set_action(signal, handler, 0, kNone, before) != 0) return SIG_ERR;
  if (sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &set, &blocked) != 0) return SIG_ERR;
  if (word_of(blocked) & signal_bit(signal)) return SIG_HOLD;
  if (holds && set_action(signal, nullptr, &before) != 0) return SIG_ERR;
  return before.sa_handler;
}

ROOST_EXPORT int sigignore(int signal) noexcept {
  struct sigaction before;
  return set_action(signal, SIG_IGN, 0, kNone, before);
}

ROOST_EXPORT int siginterrupt(int signal, int interrupts) noexcept {
  struct sigaction action;
  if (set_action(signal, nullptr, &action) != 0) return -1;
  if (interrupts) {
    interrupting.fetch_or(signal_bit(signal), std::memory_order_relaxed);
    action.sa_flags &= ~SA_RESTART;
  } else {
    interrupting.fetch_and(~signal_bit(signal), std::memory_order_relaxed);
    action.sa_flags |= SA_RESTART;
  }
  return set_action(signal, &action, nullptr);
}

}  // namespace roost
