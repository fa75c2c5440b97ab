// The word by which a carrier says that it sleeps, so that whoever has something for it wakes it.
//
// A template over a World, so that models/light_threads.cc can check it.
#pragma once

#include <cstdint>

#include "base/world.h"

namespace roost::ult {

template <class W>
struct SleepWord {
  typename W::template atomic<std::uint32_t> asleep{0};

  // By the carrier: after this it looks once more at all it could be woken for, and calls cancel()
  // if there is something.
  void announce() {
    asleep.store(1, std::memory_order_relaxed);
    // [sleep-1] between this and the last look, as between what gives it something to do and the
    // look at this word: either the carrier sees that, or the giver sees the carrier asleep.
    W::fence();
  }
  // A waker that came in between finds nobody to wake.
  void cancel() { asleep.store(0, std::memory_order_relaxed); }

  bool is_set() const { return asleep.load(std::memory_order_acquire) != 0; }

  // By whoever has given the carrier something: whether it is the one to wake it. A fence and a
  // load if it is awake.
  bool end() {
    W::fence();  // [sleep-1]
    return asleep.load(std::memory_order_relaxed) && asleep.exchange(0, std::memory_order_seq_cst);
  }
};

}  // namespace roost::ult
