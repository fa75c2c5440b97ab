// The restorer of the program's handlers.
#include "preload/handler_return.h"

#include <atomic>

#include "preload/in_handler.h"
#include "preload/kernel_action.h"

extern "C" {
// By preload/handler_return.S.
__attribute__((visibility("hidden"))) void roost_handler_return();
__attribute__((visibility("hidden"))) constinit std::atomic<std::uintptr_t>
    roost_handler_return_of_libc{0};
}

namespace roost {

void lead_handler_return(int signal) {
#if defined(__x86_64__)
  amend_action(signal, [](os::KernelAction& action) {
    // One for a single time might come, and be set again: see set_handler_once().
    if (!is_function(handler_in(action)) || !action.restorer || action.flags & SA_RESETHAND) return;
    const auto ours = reinterpret_cast<std::uintptr_t>(roost_handler_return);
    std::uintptr_t libcs = 0;
    if (action.restorer == ours ||
        (!roost_handler_return_of_libc.compare_exchange_strong(libcs, action.restorer) &&
         libcs != action.restorer))
      return;
    action.restorer = ours;
  });
#else
  static_cast<void>(signal);
#endif
}

#if defined(__x86_64__)
// libc names its restorer whatever it sets: so what is there is set again, of a signal that is not
// ignored, as the kernel would throw away one that is pending. The last ones are those that other
// threads are least likely to set meanwhile.
static bool knows_libcs_return(LibcsSigaction* real) {
  if (roost_handler_return_of_libc.load()) return true;
  constexpr int kLastRealTime = 64, kFirstRealTime = 34;
  for (int signal = kLastRealTime; signal >= kFirstRealTime; --signal) {
    struct sigaction same;
    os::KernelAction there{};
    if (real(signal, nullptr, &same) != 0 || same.sa_handler == SIG_IGN) continue;
    if (real(signal, &same, nullptr) != 0 || os::kernel_action(signal, nullptr, &there) != 0 ||
        !there.restorer)
      return false;
    std::uintptr_t unknown = 0;
    roost_handler_return_of_libc.compare_exchange_strong(unknown, there.restorer);
    return true;
  }
  return false;
}
#endif

int set_handler_once(LibcsSigaction* real, int signal, const struct sigaction& action,
                     struct sigaction* before) {
#if defined(__x86_64__)
  constexpr unsigned long kNamesReturn = 0x04000000;  // SA_RESTORER
  if (!knows_libcs_return(real)) return real(signal, &action, before);
  os::KernelAction wanted = in_kernel_form(action), found{};
  wanted.flags |= kNamesReturn;
  wanted.restorer = reinterpret_cast<std::uintptr_t>(roost_handler_return);
  if (os::kernel_action(signal, &wanted, &found) != 0) return real(signal, &action, before);
  if (before) *before = in_libc_form(found);
  return 0;
#else
  return real(signal, &action, before);
#endif
}

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
