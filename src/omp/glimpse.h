// A field that others may look at while it changes hands: what they read decides nothing then.
#pragma once

#include <atomic>

namespace roost::omp {

// Reads and writes like a T; relaxed.
template <class T>
class Glimpsed {
 public:
  constexpr Glimpsed(T value) : value_(value) {}
  Glimpsed(const Glimpsed&) = delete;
  Glimpsed& operator=(const Glimpsed&) = delete;
  T operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return value;
  }
  operator T() const { return value_.load(std::memory_order_relaxed); }
  T operator->() const { return *this; }

 private:
  std::atomic<T> value_;
};

}  // namespace roost::omp
