// Tells the program's handlers of SIGSEGV and SIGBUS from the OpenMP runtime's.
#include "preload/fault_handlers.h"

#include <signal.h>

#include <initializer_list>

#include "base/loaded_object.h"
#include "os/sys.h"
#include "preload/real.h"

namespace roost {
namespace {

// Any function of the runtime.
ROOST_LISTED_APART constinit Real<void()> in_runtime{"roost_crew_pass"};

bool is_of_openmp_runtime(std::uint64_t handler) {
  dl_find_object object;
  auto known = reinterpret_cast<std::uint64_t>(in_runtime.found());
  return known && find_object(reinterpret_cast<const void*>(handler), object) &&
         known >= reinterpret_cast<std::uint64_t>(object.dlfo_map_start) &&
         known < reinterpret_cast<std::uint64_t>(object.dlfo_map_end);
}

}  // namespace

bool is_fault_handler(int signal, std::uint64_t handler) {
  if (signal != SIGSEGV && signal != SIGBUS) return false;
  if (handler == reinterpret_cast<std::uint64_t>(SIG_DFL) ||
      handler == reinterpret_cast<std::uint64_t>(SIG_IGN))
    return false;
  return !is_of_openmp_runtime(handler);
}

bool program_handles_faults() {
  for (int signal : {SIGSEGV, SIGBUS}) {
    os::KernelAction action = {};
    if (os::kernel_action(signal, nullptr, &action) == 0 &&
        is_fault_handler(signal, action.handler))
      return true;
  }
  return false;
}

}  // namespace roost
