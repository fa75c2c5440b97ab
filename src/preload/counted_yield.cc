// Places of yields that have been looked at, and what is done about the spin before them.
#include "preload/counted_yield.h"

#include <atomic>

#include "os/sys.h"
#include "preload/defer_cancellation.h"
#include "preload/nudge.h"
#include "preload/spin_site.h"
#include "preload/wait_loads.h"
#include "sched/self.h"
#include "spin/counted_wait.h"
#include "spin/interrupted.h"

namespace roost {

#if defined(__x86_64__)

namespace {

// A place where no wait was found so often is asked no more: the wait may just have been over.
constexpr std::uint32_t kMaxLooks = 8;

// Threads that look at the same time, or places that share entries, cost further looks.
struct Place {
  std::atomic<std::uint64_t> returned;    // to here
  std::atomic<std::uint64_t> comparison;  // of the wait found; 0: none
  std::atomic<std::uint32_t> looks;
};
constexpr unsigned kPlaces = 256, kTried = 4;  // entries in a row that a place may have
constinit Place places[kPlaces + kTried - 1] = {};

// The place's entry; one that is free or taken from another if it has none.
Place& place_of(std::uint64_t at) {
  Place* first = &places[at * 0x9e3779b97f4a7c15u >> 56];
  Place* free = nullptr;
  for (Place* place = first; place < first + kTried; ++place) {
    std::uint64_t whose = place->returned.load(std::memory_order_relaxed);
    if (whose == at) return *place;
    if (!whose && !free) free = place;
  }
  Place& place = free ? *free : *first;
  place.comparison.store(0, std::memory_order_relaxed);
  place.looks.store(0, std::memory_order_relaxed);
  place.returned.store(at, std::memory_order_relaxed);
  return place;
}

bool read_window(std::uint64_t address, spin::CodeWindow& code) {
  if (!spin::read_code(address, code, os::read_own_memory)) return false;
  undo_rewrites(code);
  return true;
}

}  // namespace

void shorten_spin_before(const spin::Registers& returned) {
  std::uint64_t at = returned.instruction_pointer;
  Place& place = place_of(at);
  std::uint64_t comparison = place.comparison.load(std::memory_order_relaxed);
  if (comparison && is_shortened(comparison)) return;
  if (place.looks.load(std::memory_order_relaxed) >= kMaxLooks) return;
  if (!rewrites_wait_loops() || loops_are_left()) return;
  place.looks.fetch_add(1, std::memory_order_relaxed);
  DeferCancellation guard;
  NoSignals quiet;  // none may leave by a jump while code is changed
  spin::CountedWait wait;
  spin::CodeWindow code;
  if (spin::find_counted_wait(returned, read_window, read_carefully, wait) &&
      read_window(wait.comparison, code) && shorten_counted_wait(wait, code)) {
    place.looks.store(0, std::memory_order_relaxed);
    if (place.returned.load(std::memory_order_relaxed) == at)
      place.comparison.store(wait.comparison, std::memory_order_relaxed);
  }
}

#else

void shorten_spin_before(const spin::Registers&) {}

#endif

}  // namespace roost
