// The handler for faults in the guards, and the stacks it runs on.
#include "ult/overflow.h"

#include <signal.h>

#include "base/text.h"
#include "ult/carrier.h"
#include "ult/kernel.h"

namespace roost::ult {
namespace {

// Enough for handlers of the program, which run there as well if they ask for an alternate stack.
constexpr std::size_t kAlternateBytes = std::size_t{256} << 10;

constinit std::atomic<bool> installed{false};
constinit std::atomic<bool> said{false};
// What the program had; constant once ours is installed.
constinit struct sigaction before = {};

// In a signal handler, from here on.

bool is_overflow(const siginfo_t& info) {
  const Carrier* own = here.carrier;
  return own && info.si_code > 0 && own->current->stack.guards(info.si_addr);
}

void say(const Stack& stack) {
  if (said.exchange(true, std::memory_order_relaxed)) return;
  ErrorText text("roost: a light thread needs more stack than the ");
  text << (stack.bytes - kGuardBytes) / 1024
       << " KiB it has; OMP_STACKSIZE=16M, say, makes all stacks larger, ROOST_OMP_STACKSIZE those "
          "of light threads alone\n";
  kernel::write_error(text.c_str(), text.length());
}

void pass_on(int signal, siginfo_t* info, void* context) {
  bool sent = info->si_code <= 0;  // by kill() or the like: no instruction will fault again
  bool handled = before.sa_flags & SA_SIGINFO ||
                 (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
  if (!handled) {
    if (sent && before.sa_handler == SIG_IGN) return;
    sigaction(signal, &before, nullptr);
    if (sent) syscall(SYS_tgkill, getpid(), kernel::gettid(), signal);  // once the handler is over
    return;
  }
  if (before.sa_flags & SA_RESETHAND) {
    struct sigaction standard = {};
    sigaction(signal, &standard, nullptr);
  }
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (is_overflow(*info)) say(here.carrier->current->stack);
  pass_on(signal, info, context);
}

void install() {
  if (installed.exchange(true, std::memory_order_relaxed)) return;
  if (sigaction(SIGSEGV, nullptr, &before) != 0) return;
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (before.sa_flags & (SA_NODEFER | SA_RESTART));
  ours.sa_mask = before.sa_mask;
  sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace

void watch_for_overflow(Carrier& own) {
  own.watched_for_overflow = true;
  install();
  if (!own.alternate.low) own.alternate = map_stack(kAlternateBytes);
  if (!own.alternate.low) return;  // an overflow ends the process without a word
  stack_t now = {};
  if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
  stack_t ours = {};
  ours.ss_sp = own.alternate.bottom();
  ours.ss_size = own.alternate.bytes - kGuardBytes;
  sigaltstack(&ours, nullptr);
}

void end_watch_for_overflow(Carrier& own) {
  if (!own.watched_for_overflow) return;
  own.watched_for_overflow = false;
  stack_t now = {};
  if (!own.alternate.low || sigaltstack(nullptr, &now) != 0) return;
  if (now.ss_sp != own.alternate.bottom() || now.ss_flags & (SS_DISABLE | SS_ONSTACK)) return;
  now.ss_flags = SS_DISABLE;
  sigaltstack(&now, nullptr);
}

bool on_alternate_stack(const Carrier& own) {
  return own.alternate.holds(__builtin_frame_address(0));
}

}  // namespace roost::ult
