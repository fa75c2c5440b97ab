// Locks on which light threads wait without their OS thread: free when zero, so any zeroed words of
// a program can be one.
//
// Uncontended they cost one atomic operation each way. Who finds one taken polls for a moment, then
// queues by address (omp/lock.cc). Releasing wakes the oldest in the queue, which tries again: a
// running thread may take the lock in between, which keeps it busy, but one that was overtaken a
// few times is given it.
#pragma once

#include <atomic>
#include <cstdint>

#include "ult/sanitizer.h"

namespace roost::omp {

// Four bytes; not recursive.
class Lock {
 public:
  void acquire() {
    std::uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      acquire_slowly();
    }
    ult::happens_after(this);
  }
  bool try_acquire() {
    std::uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return false;
    }
    ult::happens_after(this);
    return true;
  }
  void release() {
    ult::happens_before(this);
    if (word_.exchange(0, std::memory_order_release) & kContended) wake_one();
  }
  bool held() const { return word_.load(std::memory_order_relaxed) != 0; }

 private:
  friend class NestLock;
  friend class LockTable;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kContended = 2;  // somebody is, or was, in the queue
  static constexpr std::uint32_t kNested = 4;     // and above: how often the owner has it besides

  void acquire_slowly();
  void wake_one();

  std::atomic<std::uint32_t> word_{0};
};

// Eight bytes: its owner can take it again.
class NestLock {
 public:
  // `owner` is not zero. How often the owner has it now.
  std::uint32_t acquire(std::uint32_t owner) {
    if (mine(owner)) return again();
    lock_.acquire();
    owner_.store(owner, std::memory_order_relaxed);
    return 1;
  }
  // 0 if another has it.
  std::uint32_t try_acquire(std::uint32_t owner) {
    if (mine(owner)) return again();
    if (!lock_.try_acquire()) return 0;
    owner_.store(owner, std::memory_order_relaxed);
    return 1;
  }
  // By the owner. Whether it has the lock no more.
  bool release() {
    if (lock_.word_.load(std::memory_order_relaxed) >= Lock::kNested) {
      lock_.word_.fetch_sub(Lock::kNested, std::memory_order_relaxed);
      return false;
    }
    owner_.store(0, std::memory_order_relaxed);
    lock_.release();
    return true;
  }

 private:
  // Nobody else writes the caller's name, and it has written zero when it does not own the lock.
  bool mine(std::uint32_t owner) const { return owner_.load(std::memory_order_relaxed) == owner; }
  std::uint32_t again() {
    std::uint32_t word = lock_.word_.fetch_add(Lock::kNested, std::memory_order_relaxed);
    return word / Lock::kNested + 2;
  }

  Lock lock_;
  std::atomic<std::uint32_t> owner_{0};
};

// Around a fork: the queues are whole while it happens, and empty in the child.
void lock_queues_before_fork();
void unlock_queues_after_fork();
void forget_waiters_after_fork();

}  // namespace roost::omp
