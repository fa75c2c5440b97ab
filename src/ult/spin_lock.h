// Locks for a few instructions, between carriers: never held across a switch, a wait or foreign
// code.
#pragma once

#include <cstdint>

#include "base/guard.h"
#include "base/world.h"
#include "ult/host.h"

namespace roost::ult {

// Until `take()` has been true. The lock's holder may have been preempted by the kernel.
template <class Take>
void spin_until(Take&& take) {
  for (unsigned spins = 1; !take(); ++spins) {
    if (spins % 64 == 0) {
      host::yield();
    } else {
      cpu_pause();
    }
  }
}

class SpinLock {
 public:
  void acquire() {
    spin_until([this] { return !held_.exchange(true, std::memory_order_acquire); });
  }
  void release() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

using SpinGuard = GuardOf<SpinLock>;

// One that a fork takes, so that what it guards is whole in the child. The thread that forks may
// have it already, if a handler does so that has interrupted it: it keeps it, in both processes.
class LockOverForks {
 public:
  void acquire() { take(own()); }
  void release() { holder_.store(0, std::memory_order_release); }

  void acquire_before_fork() {
    if (holder_.load(std::memory_order_relaxed) != own()) take(own() | kForks);
  }
  // In the parent, and in the child.
  void release_after_fork() {
    if (holder_.load(std::memory_order_relaxed) == (own() | kForks)) release();
  }

 private:
  static constexpr std::uintptr_t kForks = 1;

  // The calling thread's: the same in the child.
  static std::uintptr_t own() {
    static constinit thread_local std::uintptr_t mark __attribute__((tls_model("initial-exec"))) =
        0;
    return reinterpret_cast<std::uintptr_t>(&mark);
  }
  void take(std::uintptr_t holder) {
    spin_until([this, holder] {
      std::uintptr_t nobody = 0;
      return holder_.compare_exchange_strong(nobody, holder, std::memory_order_acquire,
                                             std::memory_order_relaxed);
    });
  }

  std::atomic<std::uintptr_t> holder_{0};
};

using GuardOverForks = GuardOf<LockOverForks>;

}  // namespace roost::ult
