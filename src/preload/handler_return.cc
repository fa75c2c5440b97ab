// The restorer of the program's handlers.
#include "preload/handler_return.h"

#include <atomic>

#include "preload/amend_action.h"
#include "preload/in_handler.h"

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
    // A handler that is called once would be called again if it were set again meanwhile.
    if (!is_function(reinterpret_cast<sighandler_t>(action.handler)) || action.flags & SA_RESETHAND)
      return;
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
