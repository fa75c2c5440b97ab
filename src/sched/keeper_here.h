// Whether a process has a keeper, and the instance a leader; both end when nobody needs them.
#pragma once

#include <atomic>
#include <cstdint>

namespace roost {

// Templates over a World, so that models/keeper_here.cc can check them.
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

// Whose keeper leads, as a word in the segment has it. It may name one that was killed, until the
// next leader: who relies on it then is watched only once somebody waits for a core.
template <class W>
class LedBy {
 public:
  explicit LedBy(typename W::template atomic<std::uint32_t>& word) : word_(word) {}

  // By who holds the leader's lock; 0 for one that watches now and then.
  void set(std::uint32_t leader) { word_.store(leader, std::memory_order_relaxed); }
  bool anybody() const { return !is(0); }
  bool is(std::uint32_t leader) const { return word_.load(std::memory_order_relaxed) == leader; }

  // [keeper-2] After the caller has come to be at large, or has found somebody to be. False: it
  // starts a keeper.
  bool is_watched() const {
    W::fence();
    return anybody();
  }

  // [keeper-2] By the leader; needed() looks for threads that are to be watched. True: it is none
  // any more, and may end.
  template <class Needed>
  bool ends(std::uint32_t leader, Needed&& needed) {
    if (!is(leader)) return true;
    set(0);
    W::fence();
    if (!needed()) return true;
    set(leader);
    return false;
  }

 private:
  typename W::template atomic<std::uint32_t>& word_;
};

// [keeper-1] [keeper-2] By a keeper whose process has one thread, and which may lead. `is_single`:
// whether that is so still; `serves_others`: whether threads are to be watched. True: it ends.
template <class W, class Single, class Serves>
bool keeper_ends(KeeperHere<W>& here, LedBy<W> led_by, std::uint32_t name, Single&& is_single,
                 Serves&& serves_others) {
  bool leads = led_by.is(name);
  if (!led_by.ends(name, serves_others)) return false;
  // Whoever of its process has come to be at large since then has found this keeper started.
  auto needed = [&] { return !is_single() || (!led_by.anybody() && serves_others()); };
  if (here.ends(needed)) return true;
  if (leads) led_by.set(name);
  return false;
}

}  // namespace roost
