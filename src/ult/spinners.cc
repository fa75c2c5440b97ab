// Whether a core is had by a thread that only spins.
#include "ult/spinners.h"

#include "ult/carriers.h"
#include "ult/kernel.h"

namespace roost::ult {
namespace {

// A thread that has spun so lately will again. Threads that take a lock by turns spin whenever it
// is not their turn, which lasts as long as a region.
constexpr Nanoseconds kLately = 5'000'000;

constinit std::atomic<Nanoseconds> last_ns{0};  // when any was seen; 0: not for long
// The last one that is no carrier, as it has opened no region yet: others were faster at the lock.
constinit Spun stranger;

bool elsewhere(const Spun& spun, int own_core, Nanoseconds now) {
  return spun.at_ns.load(std::memory_order_relaxed) + kLately > now &&
         spun.on.load(std::memory_order_relaxed) != own_core;
}

}  // namespace

void note_spinner(Carrier* own) {
  if (own && own->counted) return;  // its region's own affair
  Nanoseconds now = kernel::now();
  Spun& spun = own ? own->spun : stranger;
  spun.on.store(host::own_core(), std::memory_order_relaxed);
  spun.at_ns.store(now, std::memory_order_relaxed);
  last_ns.store(now, std::memory_order_relaxed);
}

bool spinner_elsewhere() {
  Nanoseconds last = last_ns.load(std::memory_order_relaxed);
  if (!last) return false;
  Nanoseconds now = kernel::now();
  if (last + kLately <= now) {
    last_ns.store(0, std::memory_order_relaxed);
    return false;
  }
  int own_core = host::own_core();
  for (unsigned i = 0; i < carriers_count(); ++i)
    if (elsewhere(carrier_at(i)->spun, own_core, now)) return true;
  return elsewhere(stranger, own_core, now);
}

// Ever more seldom: each thread that computes loses some 20 us by being asked.
bool look_for_spinners() {
  constexpr std::uint32_t kLookEvery = 16;
  constexpr Nanoseconds kFirst = 20'000'000, kLongest = 5'000'000'000;
  constexpr unsigned kAtATime = 8;
  static constinit std::atomic<Nanoseconds> next_ns{0};
  static constinit std::atomic<Nanoseconds> interval{kFirst};
  static constinit std::atomic<unsigned> first{0};
  Carrier& own = carrier();
  if (!host::with_roost() || ++own.unserved % kLookEvery != 0) return false;
  Nanoseconds now = kernel::now();
  if (now < next_ns.load(std::memory_order_relaxed)) return false;
  Nanoseconds pause = interval.load(std::memory_order_relaxed);
  next_ns.store(now + pause, std::memory_order_relaxed);
  if (pause < kLongest) interval.store(2 * pause, std::memory_order_relaxed);
  unsigned n = carriers_count(), asked = 0;
  unsigned from = first.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < n && asked < kAtATime; ++i) {
    const Carrier& other = *carrier_at((from + i) % n);
    std::uint32_t thread = other.thread.load(std::memory_order_relaxed);
    if (&other == &own || other.inside.load(std::memory_order_relaxed)) continue;
    if (other.sleeper.word.is_set()) continue;
    asked += host::suspect(thread);
  }
  first.store(from + asked, std::memory_order_relaxed);
  return asked == 0;
}

bool core_to_spare() {
  return host::core_to_spare(active_carriers.load(std::memory_order_relaxed)) ||
         spinner_elsewhere();
}

}  // namespace roost::ult
