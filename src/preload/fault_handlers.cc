// A handler in front of the program's, once it is needed.
#include "preload/fault_handlers.h"

#include <ucontext.h>

#include <cstdint>

#include "preload/in_handler.h"
#include "preload/kernel_action.h"
#include "preload/lock.h"
#include "preload/process.h"
#include "preload/spin_site.h"

namespace roost {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS};

// The program's, of each signal: what ours calls while it is the process's.
constinit std::atomic<sighandler_t> handlers[2] = {};
constinit std::atomic<bool> leading{false};
// By who changes what the kernel and `handlers` have of a signal that is led.
constinit Lock changing;

std::atomic<sighandler_t>* handler_of(int signal) {
  for (int i = 0; i < 2; ++i)
    if (signal == kFaults[i]) return &handlers[i];
  return nullptr;
}

// As old handlers are called, too: the kernel passes all three in any case.
void on_fault(int signal, siginfo_t* info, void* context) {
#if defined(__x86_64__)
  auto& address = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  address = static_cast<greg_t>(programs_address(static_cast<std::uint64_t>(address)));
#endif
  struct sigaction programs = {};
  programs.sa_handler = handler_of(signal)->load(std::memory_order_acquire);
  programs.sa_sigaction(signal, info, context);
}
sighandler_t ours() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  return action.sa_handler;
}

void lead(int signal) {
  amend_action(signal, [signal](os::KernelAction& action) {
    sighandler_t handler = handler_in(action);
    if (!is_function(handler) || handler == ours()) return;
    handler_of(signal)->store(handler, std::memory_order_release);
    action.handler = reinterpret_cast<std::uintptr_t>(ours());
  });
}

}  // namespace

void lead_fault_handlers() {
  leading.store(true, std::memory_order_seq_cst);
  LockGuard guard(changing);
  for (int signal : kFaults) lead(signal);
}

bool leads_fault_handlers() {
  return handlers[0].load(std::memory_order_relaxed) || handlers[1].load(std::memory_order_relaxed);
}

HandlerChange::Alone::Alone() { changing.acquire(); }
HandlerChange::Alone::~Alone() { changing.release(); }

HandlerChange::HandlerChange(int signal) : led_(handler_of(signal)) {
  if (!led_) return;
  if (leading.load(std::memory_order_seq_cst) && in_managed_process()) alone_.emplace();
  before_ = led_->load(std::memory_order_relaxed);
}

// A child that shares our memory has actions of its own.
sighandler_t HandlerChange::lead(sighandler_t wanted) const {
  // Ours is what a system call has told the program, where those are not seen to.
  if (!led_ || !is_function(wanted) || wanted == ours() ||
      !leading.load(std::memory_order_seq_cst) || !in_managed_process())
    return wanted;
  led_->store(wanted, std::memory_order_release);
  return ours();
}

sighandler_t HandlerChange::before(sighandler_t found) const {
  return found == ours() ? before_ : found;
}

}  // namespace roost
