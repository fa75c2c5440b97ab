// Whether a process has a keeper, which ends when the process does not need one any more.
#pragma once

#include <atomic>
#include <cstdint>

namespace roost {

// A template over a World, so that models/keeper_here.cc can check it.
template <class W>
class KeeperHere {
 public:
  bool is_started() const { return started_.load(std::memory_order_relaxed) != 0; }

  // [keeper-1] After whatever makes a keeper necessary was done. True: the caller starts one.
  bool is_to_start() {
    W::fence();
    return started_.load(std::memory_order_relaxed) == 0 &&
           started_.exchange(1, std::memory_order_acq_rel) == 0;
  }
  void failed_to_start() { started_.store(0, std::memory_order_release); }

  // [keeper-1] By the keeper; needed() looks for whatever makes it necessary. True: it ends, and
  // may have a successor already.
  template <class Needed>
  bool ends(Needed&& needed) {
    started_.store(0, std::memory_order_relaxed);
    W::fence();
    std::uint32_t none = 0;
    return !needed() || !started_.compare_exchange_strong(none, 1, std::memory_order_relaxed,
                                                          std::memory_order_relaxed);
  }

  void forget() { started_.store(0, std::memory_order_relaxed); }

 private:
  typename W::template atomic<std::uint32_t> started_{0};
};

}  // namespace roost
