// Where the members of a team wait for each other: lists for several carriers.
//
// Who wakes a strand of another core misses the cache several times for it. So a carrier that polls
// wakes its own, and all cores do that at once. ult/PROTOCOL.md argues it, models/light_threads.cc
// checks it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/types.h"
#include "base/world.h"

namespace roost::omp {

// List: wake_seen() and is_waited_for() as those of ult::WaitList; who waits pushes itself, with a
// fence, and looks at the condition again [wait-1].
template <class W, class List>
class Gates {
 public:
  static constexpr unsigned kGates = 8;

  // For a wait on a carrier of that number: a list of its own (on large machines some share one) if
  // carriers have several members (`light`; they need not agree on it). Those that wake look at it
  // from now on.
  List& gate_of(unsigned carrier, bool light) {
    unsigned number = light ? carrier % kGates : 0;
    if (!(used_.load(std::memory_order_relaxed) & 1u << number))
      used_.fetch_or(1u << number, std::memory_order_relaxed);
    return gates_[number].list;
  }
  // After the condition was changed. A fence and a few loads if nobody waits.
  void wake_all() {
    W::fence();  // [wait-1], of all the lists
    wake_seen();
  }
  // The same on that carrier, of a barrier whose epoch was raised to `epoch`; others, which may be
  // polling for it, have a moment to wake theirs.
  void release(unsigned carrier, std::uint32_t epoch) {
    constexpr unsigned kMoment = 8;  // pauses: 0.1 to 0.4 us
    W::fence();                      // [wait-1]
    leave(carrier, epoch);
    for (unsigned i = 0; i < kMoment && is_waited_at(); ++i) cpu_pause();
    wake_seen();
  }
  // By who has seen that epoch. The first on a carrier wakes the others there; those after it might
  // wake some that wait for the next epoch already.
  void leave(unsigned carrier, std::uint32_t epoch) {
    Gate& own = gates_[carrier % kGates];
    if (own.left.load(std::memory_order_relaxed) == epoch) return;
    own.left.store(epoch, std::memory_order_relaxed);
    own.list.wake_seen();
  }

 private:
  struct alignas(kCoreStride) Gate {
    List list;
    typename W::template atomic<std::uint32_t> left{0};
  };

  void wake_seen() {
    std::uint32_t used = used_.load(std::memory_order_relaxed);
    for (; used; used &= used - 1) gates_[__builtin_ctz(used)].list.wake_seen();
  }
  bool is_waited_at() const {
    std::uint32_t used = used_.load(std::memory_order_relaxed);
    for (; used; used &= used - 1)
      if (gates_[__builtin_ctz(used)].list.is_waited_for()) return true;
    return false;
  }

  // A bit for each that somebody has waited at.
  typename W::template atomic<std::uint32_t> used_{0};
  Gate gates_[kGates];
};

}  // namespace roost::omp
