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
// have it already, if a handler does so that has interrupted it, perhaps in a fork: it keeps it, in
// both processes.
class LockOverForks {
 public:
  void acquire() { take(own()); }
  void release() { holder_.store(0, std::memory_order_release); }

  // Around each fork of the calling thread, before the first call for it and after the last.
  static void fork_begins() { ++forks(); }
  static void fork_ends() { --forks(); }
  // Which one it is of those under way, as a handler may fork in the midst of a fork: from 1 on;
  // from the seventh on they are one.
  static std::uintptr_t which_fork() { return forks() < kForks ? forks() : kForks; }

  void acquire_before_fork() {
    if ((holder_.load(std::memory_order_relaxed) & ~kForks) != own()) take(own() | which_fork());
  }
  // In the parent, and in the child.
  void release_after_fork() {
    if (holder_.load(std::memory_order_relaxed) == (own() | which_fork())) release();
  }

 private:
  // The bits of an address that say in which fork the lock was taken; 0: in none.
  static constexpr std::uintptr_t kForks = 7;

  // Of the calling thread.
  static std::uintptr_t& forks() {
    static constinit thread_local std::uintptr_t under_way
        __attribute__((tls_model("initial-exec"))) = 0;
    return under_way;
  }
  // The calling thread's: the same in the child.
  static std::uintptr_t own() { return reinterpret_cast<std::uintptr_t>(&forks()); }
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
