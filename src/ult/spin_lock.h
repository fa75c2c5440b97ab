// A lock for a few instructions, between carriers: never held across a switch, a wait or foreign
// code.
#pragma once

#include "base/guard.h"
#include "base/world.h"
#include "ult/host.h"

namespace roost::ult {

class SpinLock {
 public:
  void acquire() {
    for (unsigned spins = 1; held_.exchange(true, std::memory_order_acquire); ++spins) {
      // Its holder may have been preempted by the kernel.
      if (spins % 64 == 0) {
        host::yield();
      } else {
        cpu_pause();
      }
    }
  }
  void release() { held_.store(false, std::memory_order_release); }
  // After fork: whoever held it does not exist here.
  void reset() { release(); }

 private:
  std::atomic<bool> held_{false};
};

using SpinGuard = GuardOf<SpinLock>;

}  // namespace roost::ult
