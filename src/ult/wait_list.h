// Who waits for something to change: a stack of records that wakers empty at once.
//
// Templates over a World, so that models/light_threads.cc can check them.
#pragma once

#include "base/world.h"

namespace roost::ult {

// A stack's items, linked by `next` from the newest on, in the order they were pushed.
template <class Item>
Item* oldest_first(Item* newest) {
  Item* oldest = nullptr;
  while (newest) {
    Item* older = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = older;
  }
  return oldest;
}

// One who waits; lives on its own stack, and stays there while it is listed.
template <class W, class Who>
struct WaiterOf {
  Who who{};
  WaiterOf* next = nullptr;
  typename W::template atomic<bool> listed{false};

  bool is_listed() const { return listed.load(std::memory_order_acquire); }  // [wait-2]
};

template <class W, class Who>
class WaitStack {
 public:
  using Waiter = WaiterOf<W, Who>;

  // The waiter looks at its condition again afterwards.
  void push(Waiter& waiter) {
    waiter.listed.store(true, std::memory_order_relaxed);
    Waiter* head = head_.load(std::memory_order_relaxed);
    do {
      waiter.next = head;
    } while (!head_.compare_exchange_strong(head, &waiter, std::memory_order_release,
                                            std::memory_order_relaxed));
    // [wait-1] between this and the look at the condition, as between the change of the condition
    // and the look at the list: one of the two sees the other.
    W::fence();
  }

  // By a waker, once it has changed the condition: whether anybody may be waiting.
  bool has_waiters() const {
    W::fence();  // [wait-1]
    return seems_to_have_waiters();
  }
  // The same without the fence: to who had none, a hint.
  bool seems_to_have_waiters() const { return head_.load(std::memory_order_relaxed) != nullptr; }

  // Takes all who wait and calls wake(who) for each, oldest first. A record may be gone once it is
  // not listed any more.
  template <class Wake>
  void take_all(Wake&& wake) {
    Waiter* oldest = oldest_first(head_.exchange(nullptr, std::memory_order_acquire));
    while (oldest) {
      Waiter* younger = oldest->next;
      Who who = oldest->who;
      oldest->listed.store(false, std::memory_order_release);  // [wait-2]
      wake(who);
      oldest = younger;
    }
  }

 private:
  typename W::template atomic<Waiter*> head_{nullptr};
};

}  // namespace roost::ult
