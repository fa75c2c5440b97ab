// Whether other processes want the CPUs that the carriers of this one wait on.
//
// Without Roost nothing says so (MPI's ranks, each with a team). But who waits awake and finds that
// much time has gone by between two looks at the clock was kept from its CPU. The CPUs are taken to
// be crowded for a while then; if it happens again soon after that, for twice as long.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/types.h"

namespace roost::ult {

// Of a process; its carriers may lose each other's changes: the worst is a while more or less.
class Crowding {
 public:
  static constexpr Nanoseconds kKept = 100'000;
  static constexpr Nanoseconds kFirst = 200'000'000, kLongest = 1'600'000'000;

  // By a carrier that has waited awake since its last look.
  bool look(Nanoseconds now, Nanoseconds last_look) {
    Nanoseconds until = until_.load(std::memory_order_relaxed);
    if (now < until) return true;
    if (now - last_look < kKept) return false;
    Nanoseconds before = lasts_.load(std::memory_order_relaxed);
    Nanoseconds lasts = now - until < before ? std::min(2 * before, kLongest) : kFirst;
    lasts_.store(lasts, std::memory_order_relaxed);
    until_.store(now + lasts, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<Nanoseconds> until_{0}, lasts_{0};
};

}  // namespace roost::ult
