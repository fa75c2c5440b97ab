// Such a handler waits by sigsuspend, which hardly any other program calls, or for a semaphore, as
// SBCL's does, whose other threads receive signals by sigwait.
#include "preload/stopped_threads.h"

#include <link.h>
#include <signal.h>

#include <limits>

#include "base/object_symbols.h"
#include "os/sys.h"
#include "preload/fork_gate.h"
#include "preload/in_handler.h"

namespace roost {

std::atomic<bool> may_stop_threads{false};
std::atomic<bool> stops_threads{false};

Nanoseconds until_handlers_are_overdue() {
  // Handlers that wait are kept out from then on, but not of sections that threads are in already.
  constexpr Nanoseconds kForSure = 1'000'000'000;
  constexpr std::uint64_t kSentByPrograms = signal_bit(SIGUSR1) | signal_bit(SIGUSR2) |
                                            signal_bit(SIGPWR) | signal_bit(SIGXCPU) |
                                            signal_bit(SIGXFSZ) | ~std::uint64_t{0} << SIGSYS;
  static Nanoseconds out_since = 0;
  bool may_leave_some = (handled_signals() & kSentByPrograms) != 0 || wakes_are_deferred();
  if (may_leave_some && handlers_stay_out.load(std::memory_order_relaxed)) {
    Nanoseconds now = os::now();
    if (out_since == 0) out_since = now;
    may_leave_some = now - out_since < kForSure || wakes_are_deferred();
  }
  return may_leave_some ? kWakeOverdue : std::numeric_limits<Nanoseconds>::max();
}

void look_for_who_stops_threads() {
  if (may_stop_threads.load(std::memory_order_relaxed)) return;
  auto look = [](dl_phdr_info* info, std::size_t, void*) -> int {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type != PT_DYNAMIC) continue;
      link_map object{};
      object.l_addr = info->dlpi_addr;
      object.l_ld = reinterpret_cast<ElfW(Dyn)*>(info->dlpi_addr + part.p_vaddr);
      ObjectSymbols symbols(object);
      return symbols.takes("sigsuspend") || (symbols.takes("pthread_kill") &&
                                             symbols.takes("sem_wait") && symbols.takes("sigwait"));
    }
    return 0;
  };
  if (walk_objects(look, nullptr)) may_stop_threads.store(true, std::memory_order_relaxed);
}

void keep_handlers_out() {
  stops_threads.store(true, std::memory_order_relaxed);
  keep_handlers_out_of_sections();
  // Once: until then threads leave the critical sections that they have entered without it.
  constexpr Nanoseconds kLongEnough = 1'000'000;
  os::sleep_for(kLongEnough);
}

}  // namespace roost
