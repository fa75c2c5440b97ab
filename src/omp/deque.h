// A work-stealing deque of bounded size: its owner pushes and pops at the bottom, thieves take from
// the top (Chase and Lev, SPAA 2005; orderings after Le and others, PPoPP 2013).
//
// It never grows: whoever finds it full does the work at once, which bounds memory and is faster
// than queueing it. A thief reads an item before it knows that it gets it, so what items point to
// must stay readable (ult/memory.h). models/task_deque.cc checks it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "base/world.h"

namespace roost::omp {

template <class W, class T, unsigned kRoom>
class Deque {
  static_assert((kRoom & (kRoom - 1)) == 0);
  template <class U>
  using Atomic = typename W::template atomic<U>;

 public:
  // By the owner. False when there is no room.
  bool push(T* item) {
    std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    if (!has_room(bottom)) return false;
    slot(bottom).store(item, std::memory_order_relaxed);
    // [deque-2] Who sees the new bottom sees the item, and what it points to.
    bottom_.store(bottom + 1, std::memory_order_release);
    return true;
  }

  // By the owner: whether push() would fail. Once it would not, only the owner changes that.
  bool full() { return !has_room(bottom_.load(std::memory_order_relaxed)); }

  // By the owner: the newest, or null.
  T* pop() {
    std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    // Only thieves move `top`, and only up: empty now is empty for good.
    if (top_.load(std::memory_order_relaxed) > bottom) return nullptr;
    bottom_.store(bottom, std::memory_order_relaxed);
    // [deque-3] Thieves look at `bottom` after `top`, the owner at `top` after it has moved
    // `bottom`: of two that want the last item, one sees the other.
    W::fence();
    std::int64_t top = top_.load(std::memory_order_relaxed);
    T* item = nullptr;
    if (top <= bottom) {
      item = slot(bottom).load(std::memory_order_relaxed);
      if (top < bottom) return item;
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
        item = nullptr;  // a thief has it
      }
    }
    // [deque-2] once more: a thief may see the slot's item by this store alone.
    bottom_.store(bottom + 1, std::memory_order_release);
    return item;
  }

  // By the owner: what pop() would return, but for thieves; or null.
  T* newest() {
    std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    if (top_.load(std::memory_order_relaxed) >= bottom) return nullptr;
    return slot(bottom - 1).load(std::memory_order_relaxed);
  }

  // By anyone: what steal() would look at, or null; a hint.
  T* oldest() {
    std::int64_t top = top_.load(std::memory_order_acquire);
    if (top >= bottom_.load(std::memory_order_acquire)) return nullptr;  // [deque-2]
    return slot(top).load(std::memory_order_relaxed);
  }

  // By anyone: the oldest if may_take() says so of it, or null, also when another was faster.
  // may_take() may be asked about an item that somebody else has taken and changed since; then its
  // answer is not used.
  template <class MayTake>
  T* steal(MayTake&& may_take) {
    std::int64_t top = top_.load(std::memory_order_acquire);
    W::fence();                                                     // [deque-3]
    std::int64_t bottom = bottom_.load(std::memory_order_acquire);  // [deque-2]
    if (top >= bottom) return nullptr;
    T* item = slot(top).load(std::memory_order_relaxed);
    if (!may_take(*item)) return nullptr;
    // [deque-1] release: the slot was read before.
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
      return nullptr;
    }
    return item;
  }

  // A hint, for anyone.
  bool empty() const {
    return top_.load(std::memory_order_relaxed) >= bottom_.load(std::memory_order_relaxed);
  }

 private:
  bool has_room(std::int64_t bottom) { return bottom < limit_ || find_room(bottom); }
  // Room for half of the items at once, or none: else an owner that produces faster than thieves
  // take would pay for each item they take with a look at their `top`, and they for its look.
  bool find_room(std::int64_t bottom) {
    // [deque-1] A slot's last item was taken before `top` went past it.
    std::int64_t top = top_.load(std::memory_order_acquire);
    if (bottom - top > static_cast<std::int64_t>(kRoom) / 2) return false;
    limit_ = top + static_cast<std::int64_t>(kRoom);
    return true;
  }
  Atomic<T*>& slot(std::int64_t index) {
    return slots_[static_cast<std::uint64_t>(index) & (kRoom - 1)];
  }

  alignas(kCoreStride) Atomic<std::int64_t> top_{0};
  alignas(kCoreStride) Atomic<std::int64_t> bottom_{0};
  std::int64_t limit_ = kRoom;  // the owner's: `bottom` may go up to it
  Atomic<T*> slots_[kRoom] = {};
};

}  // namespace roost::omp
