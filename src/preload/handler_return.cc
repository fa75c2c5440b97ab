// The restorer of the program's handlers.
#include "preload/handler_return.h"

#include <gnu/libc-version.h>

#include <atomic>

#include "base/loaded_object.h"
#include "preload/in_handler.h"
#include "preload/kernel_action.h"
#include "preload/real.h"

extern "C" {
// By preload/handler_return.S.
__attribute__((visibility("hidden"))) void roost_handler_return();
__attribute__((visibility("hidden"))) constinit std::atomic<std::uintptr_t>
    roost_handler_return_of_libc{0};
}

namespace roost {

namespace {

ROOST_LISTED constinit Real<int(int, const struct sigaction*, struct sigaction*)> real_sigaction{
    "sigaction"};

#if defined(__x86_64__)
// Not so behind another library that has a say in handlers (ThreadSanitizer's, Java's libjsig): it
// is to be asked. An older libc (before 2.35) does not tell.
bool is_libcs(const void* function) {
  dl_find_object its, libcs;
  if (!_dl_find_object) return true;
  return find_object(function, its) &&
         find_object(reinterpret_cast<const void*>(&gnu_get_libc_version), libcs) &&
         its.dlfo_link_map == libcs.dlfo_link_map;
}

// It names its restorer whatever it sets. Not a signal that is ignored: the kernel would throw away
// one that is pending. The last ones are those that others are least likely to set.
void learn_libcs_return() {
  if (!is_libcs(reinterpret_cast<const void*>(real_sigaction.get()))) return;
  constexpr int kLastRealTime = 64, kFirstRealTime = 34;
  for (int signal = kLastRealTime; signal >= kFirstRealTime; --signal) {
    os::KernelAction there{}, by_libc{};
    if (os::kernel_action(signal, nullptr, &there) != 0 || handler_in(there) == SIG_IGN) continue;
    struct sigaction same = in_libc_form(there);
    if (real_sigaction(signal, &same, nullptr) != 0 ||
        os::kernel_action(signal, &there, &by_libc) != 0)
      return;
    roost_handler_return_of_libc.store(by_libc.restorer);
    return;
  }
}

bool libcs_return_is_known() {
  if (!roost_handler_return_of_libc.load()) learn_libcs_return();
  return roost_handler_return_of_libc.load();
}

std::uintptr_t our_return() { return reinterpret_cast<std::uintptr_t>(roost_handler_return); }

bool may_be_led(int signal, const struct sigaction* action) {
  constexpr int kCancels = 32, kSetsCredentials = 33;  // libc keeps them for itself, and refuses
  return action && is_function(action->sa_handler) && signal != kCancels &&
         signal != kSetsCredentials && libcs_return_is_known();
}

// False: it is libc's to refuse.
bool set_led(int signal, const struct sigaction& action, struct sigaction* before) {
  constexpr unsigned long kNamesReturn = 0x04000000;  // SA_RESTORER
  os::KernelAction wanted = in_kernel_form(action), found{};
  wanted.flags |= kNamesReturn;
  wanted.restorer = our_return();
  if (os::kernel_action(signal, &wanted, &found) != 0) return false;
  if (before) *before = in_libc_form(found);
  return true;
}

// What the program is told is libc's.
void show_libcs(struct sigaction& action) {
  if (reinterpret_cast<std::uintptr_t>(action.sa_restorer) == our_return())
    action.sa_restorer = reinterpret_cast<void (*)()>(roost_handler_return_of_libc.load());
}
#endif

}  // namespace

#if defined(__x86_64__)
void handler_returns_start() { learn_libcs_return(); }

int lead_action(int signal, const struct sigaction* action, struct sigaction* before) {
  bool led = may_be_led(signal, action) && set_led(signal, *action, before);
  int result = led ? 0 : real_sigaction(signal, action, before);
  if (before && result == 0) show_libcs(*before);
  return result;
}
#else
void handler_returns_start() {}

int lead_action(int signal, const struct sigaction* action, struct sigaction* before) {
  return real_sigaction(signal, action, before);
}
#endif

HandlerReturns handler_returns() {
#if defined(__x86_64__)
  return {reinterpret_cast<std::uintptr_t>(roost_handler_return),
          roost_handler_return_of_libc.load(std::memory_order_relaxed)};
#else
  return {};
#endif
}

bool in_handler_return(std::uint64_t address) {
  constexpr std::uint64_t kBytes = 16;  // ours have 15, libc's 9
  HandlerReturns returns = handler_returns();
  return (returns.ours && address - returns.ours < kBytes) ||
         (returns.libcs && address - returns.libcs < kBytes);
}

}  // namespace roost
