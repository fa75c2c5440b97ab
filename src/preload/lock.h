// A short process-local spin lock that signal handlers on the same thread cannot re-enter.
#pragma once

#include "base/guard.h"
#include "base/world.h"

namespace roost {

class Lock {
 public:
  void acquire() {
    RealWorld::enter_critical();
    for (unsigned spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
      RealWorld::relax(spins);
    }
  }
  // False if somebody has it.
  bool try_acquire() {
    RealWorld::enter_critical();
    if (!held_.exchange(true, std::memory_order_acquire)) return true;
    RealWorld::leave_critical();
    return false;
  }
  void release() {
    held_.store(false, std::memory_order_release);
    RealWorld::leave_critical();
  }
  // After fork: whoever held it does not exist here.
  void reset() { held_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> held_{false};
};

using LockGuard = GuardOf<Lock>;

}  // namespace roost
