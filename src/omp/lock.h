// A lock of four bytes on which light threads wait without their OS thread: free when zero, so any
// zeroed word of a program can be one. Not recursive.
//
// Uncontended it costs one atomic operation each way. Waiters queue by address (omp/lock.cc),
// oldest first; the lock is handed to nobody: who releases it wakes the oldest, who tries again, so
// a running thread may take it in between.
#pragma once

#include <atomic>
#include <cstdint>

namespace roost::omp {

class Lock {
 public:
  void acquire() {
    std::uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      acquire_slowly();
    }
  }
  bool try_acquire() {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void release() {
    if (word_.exchange(0, std::memory_order_seq_cst) == kContended) wake_one();
  }
  bool held() const { return word_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kContended = 2;  // held, and perhaps waited for

  void acquire_slowly();
  void wake_one();

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace roost::omp
