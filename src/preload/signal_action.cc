// What the program does about signals: sigaction and the older calls, two signals of which Roost
// uses itself (nudge.h, trap_signals.h).
#include <errno.h>
#include <signal.h>

#include "preload/fault_handlers.h"
#include "preload/handler_return.h"
#include "preload/in_handler.h"
#include "preload/nudge.h"
#include "preload/real.h"
#include "preload/trap_signals.h"

namespace roost {
namespace {

// A handler that jumps must not find its thread within the linker, whose lock nobody would unlock.
void before_handler(int signal, sighandler_t handler, int flags) {
  if (!is_function(handler)) return;
  resolve_libc_functions();
  note_handler(signal, flags);
}

void after_handler(int signal, sighandler_t handler) {
  if (is_function(handler) && !owns_sigsys(signal)) lead_handler_return(signal);
}

int change_action(int signal, const struct sigaction* action, struct sigaction* before) {
  HandlerChange change(signal);
  struct sigaction led;
  if (action) {
    before_handler(signal, action->sa_handler, action->sa_flags);
    led = *action;
    led.sa_handler = change.lead(action->sa_handler);
  }
  int result = program_sigaction(signal, action ? &led : nullptr, before);
  if (result != 0) return result;
  if (before) before->sa_handler = change.before(before->sa_handler);
  if (action) after_handler(signal, action->sa_handler);
  return result;
}

}  // namespace

ROOST_EXPORT int sigaction(int signal, const struct sigaction* action,
                           struct sigaction* before) noexcept {
  if (nudges_answer(signal, action, before)) return 0;
  return change_action(signal, action, before);
}
extern "C" __attribute__((visibility("default"), alias("sigaction"))) int __sigaction(
    int signal, const struct sigaction* action, struct sigaction* before) noexcept;

// The older calls reach libc's sigaction past us. `flags` are those of the handler they set, who
// stays.
#define ROOST_SIGNAL_SETTER(name, flags)                                                    \
  ROOST_EXPORT sighandler_t name(int signal, sighandler_t handler) noexcept {               \
    static ROOST_LISTED constinit Real<sighandler_t(int, sighandler_t)> real_setter{#name}; \
    before_handler(signal, handler, flags);                                                 \
    nudges_give_up(signal);                                                                 \
    if (owns_sigsys(signal) && handler != SIG_ERR && handler != SIG_HOLD)                   \
      return set_sigsys_handler(handler, flags);                                            \
    HandlerChange change(signal);                                                           \
    sighandler_t found = real_setter(signal, change.lead(handler));                         \
    if (found != SIG_ERR) after_handler(signal, handler);                                   \
    return change.before(found);                                                            \
  }
ROOST_SIGNAL_SETTER(signal, SA_RESTART)
ROOST_SIGNAL_SETTER(bsd_signal, SA_RESTART)
ROOST_SIGNAL_SETTER(ssignal, SA_RESTART)
ROOST_SIGNAL_SETTER(sigset, 0)
#undef ROOST_SIGNAL_SETTER

// A handler for one time.
ROOST_EXPORT sighandler_t sysv_signal(int signal, sighandler_t handler) noexcept {
  constexpr int kInterrupt = 0x20000000;  // SA_INTERRUPT: without meaning, but asked for
  constexpr int kFlags = SA_RESETHAND | SA_NODEFER | kInterrupt;
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  nudges_give_up(signal);
  if (owns_sigsys(signal) && handler != SIG_HOLD) return set_sigsys_handler(handler, kFlags);
  struct sigaction wanted = {}, found = {};
  wanted.sa_handler = handler;
  wanted.sa_flags = kFlags;
  return change_action(signal, &wanted, &found) == 0 ? found.sa_handler : SIG_ERR;
}
extern "C" __attribute__((visibility("default"), alias("sysv_signal"))) sighandler_t __sysv_signal(
    int signal, sighandler_t handler) noexcept;

ROOST_EXPORT int sigignore(int signal) noexcept {
  static ROOST_LISTED constinit Real<int(int)> real_setter{"sigignore"};
  nudges_give_up(signal);
  if (!owns_sigsys(signal)) return real_setter(signal);
  set_sigsys_handler(SIG_IGN, 0);
  return 0;
}
ROOST_EXPORT int siginterrupt(int signal, int interrupts) noexcept {
  static ROOST_LISTED constinit Real<int(int, int)> real_setter{"siginterrupt"};
  nudges_give_up(signal);
  if (!owns_sigsys(signal)) return real_setter(signal, interrupts);
  set_sigsys_restart(!interrupts);
  return 0;
}

}  // namespace roost
