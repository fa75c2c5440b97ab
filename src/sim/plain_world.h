// The world of the simulator behind the door of base/world.h: one thread at a time, so that plain
// words do for atomics.
#pragma once

#include <atomic>

namespace roost::sim {

struct PlainWorld {
  template <class T>
  class atomic {
   public:
    atomic() = default;
    atomic(T value) : value_(value) {}
    T load(std::memory_order = std::memory_order_seq_cst) const { return value_; }
    void store(T value, std::memory_order = std::memory_order_seq_cst) { value_ = value; }
    T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
      T old = value_;
      value_ = value;
      return old;
    }
    bool compare_exchange_strong(T& expected, T desired,
                                 std::memory_order = std::memory_order_seq_cst,
                                 std::memory_order = std::memory_order_seq_cst) {
      if (value_ != expected) {
        expected = value_;
        return false;
      }
      value_ = desired;
      return true;
    }
    T fetch_or(T bits, std::memory_order = std::memory_order_seq_cst) {
      return exchange(value_ | bits);
    }
    T fetch_and(T bits, std::memory_order = std::memory_order_seq_cst) {
      return exchange(value_ & bits);
    }
    T fetch_add(T n, std::memory_order = std::memory_order_seq_cst) { return exchange(value_ + n); }
    T fetch_sub(T n, std::memory_order = std::memory_order_seq_cst) { return exchange(value_ - n); }

   private:
    T value_{};
  };
  static void fence() {}
  static void relax(unsigned) {}
  static void enter_critical() {}
  static void leave_critical() {}
};

}  // namespace roost::sim
