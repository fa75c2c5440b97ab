// The word by which a carrier says that it sleeps, so that whoever has something for it wakes it.
//
// A template over a World, so that models/light_threads.cc can check it.
#pragma once

#include <cstdint>

#include "base/world.h"

namespace roost::ult {

// What the word says of the carrier.
enum Sleep : std::uint32_t {
  kAwake = 0,
  kAsleep = 1,
  kAsleepFromWork = 2,  // who ends this sleep counts it among the active carriers
};

template <class W>
struct SleepWord {
  typename W::template atomic<std::uint32_t> asleep{kAwake};

  // By the carrier: after this it looks once more at all it could be woken for, and calls cancel()
  // if there is something.
  void announce(Sleep sleep) {
    asleep.store(sleep, std::memory_order_relaxed);
    // [sleep-1] between this and the last look, as between what gives it something to do and the
    // look at this word: either the carrier sees that, or the giver sees the carrier asleep.
    W::fence();
  }
  // By the carrier. What it was; kAwake if a waker came in between. One that comes later finds
  // nobody to wake.
  Sleep cancel() { return set_awake(); }

  bool is_set() const { return asleep.load(std::memory_order_acquire) != kAwake; }

  // By whoever has given the carrier something: what it was; unless kAwake, the caller is the one
  // to wake it. A fence and a load if it is awake.
  Sleep end() {
    W::fence();  // [sleep-1]
    return set_awake();
  }

 private:
  Sleep set_awake() {
    if (asleep.load(std::memory_order_relaxed) == kAwake) return kAwake;
    return static_cast<Sleep>(asleep.exchange(kAwake, std::memory_order_seq_cst));
  }
};

}  // namespace roost::ult
