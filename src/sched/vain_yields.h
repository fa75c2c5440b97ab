// Yields after which nobody of the process has anything to do, as far as their times tell.
//
// Threads that poll, each under a lock or in a library's code, cannot be proved to wait: while they
// yield to each other the turn of their process would go on, though what they wait for may be the
// affair of another process that is READY behind them. Decision: docs/design/036-turns-given-up.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/types.h"

namespace roost {

// Of one process on one core. Used by whoever of its threads has that core; all zero at first.
class VainYields {
 public:
  // At a yield of a thread that was granted the core at `granted`. How many yields have followed
  // each other fast, or 0: too few to tell.
  std::uint32_t count(Nanoseconds granted) {
    Nanoseconds since = since_.load(std::memory_order_relaxed);
    std::uint32_t yields = yields_.load(std::memory_order_relaxed);
    if (yields == 0 || granted - since > std::max(yields, kFew) * kBrief) {
      since_.store(granted, std::memory_order_relaxed);
      yields = 0;
    }
    yields_.store(++yields, std::memory_order_relaxed);
    return yields < kFew ? 0 : yields;
  }
  void forget() { yields_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFew = 32;
  static constexpr Nanoseconds kBrief = 10'000;  // between two, on the average

  std::atomic<Nanoseconds> since_;
  std::atomic<std::uint32_t> yields_;
};

}  // namespace roost
