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
    Nanoseconds since = get(since_);
    std::uint32_t yields = get(yields_);
    if (get(gave_)) come_back(granted);
    if (yields == 0 || granted - since > std::max(yields, kFew) * kBrief) {
      set(since_, granted);
      yields = 0;
    }
    set(yields_, ++yields);
    return yields < few() ? 0 : yields;
  }

  // The turn has been given to one of so many other processes.
  void gave(Nanoseconds granted, std::uint32_t others) {
    set(gave_, granted);
    set(fair_, kLonger * (granted - get(since_)) * others);
    forget();
  }
  // Others have had nothing to do there, either.
  void forget() { set(yields_, 0u); }

 private:
  static constexpr std::uint32_t kFew = 32, kMost = 1 << 15;
  static constexpr Nanoseconds kBrief = 10'000;  // between two, on the average
  static constexpr Nanoseconds kLonger = 4;      // the others' turns may be, on the average

  template <class T>
  static T get(const std::atomic<T>& word) {
    return word.load(std::memory_order_relaxed);
  }
  template <class T>
  static void set(std::atomic<T>& word, T value) {
    word.store(value, std::memory_order_relaxed);
  }

  std::uint32_t few() const { return kFew + get(more_); }

  // Where the others use their turns, they need not be given any so soon: these threads may do
  // something in between as well.
  void come_back(Nanoseconds granted) {
    bool long_away = granted - get(gave_) > get(fair_);
    set(more_, long_away ? std::min(2 * few(), kMost) - kFew : (few() - kFew) / 2);
    set(gave_, Nanoseconds{0});
  }

  std::atomic<Nanoseconds> since_;
  std::atomic<Nanoseconds> gave_;  // when the turn was given away, 0: since then it has come back
  std::atomic<Nanoseconds> fair_;  // for how long the others may have had it by then
  std::atomic<std::uint32_t> yields_;
  std::atomic<std::uint32_t> more_;
};

}  // namespace roost
