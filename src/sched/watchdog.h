// When the leader takes a core from an owner that passes no scheduling point, or asks it to yield:
// the decisions, apart from how they are carried out. sched/PROTOCOL.md, "The watchdog", has the
// bound on waiting that follows; bounded_wait_test.cc tests it on this very code in virtual time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"

namespace roost {

inline constexpr Nanoseconds kBusyTick = 4'000'000;  // while threads wait for cores
inline constexpr Nanoseconds kSpinTick = 1'000'000;  // while threads are found to wait by spinning
inline constexpr Nanoseconds kQuietTick = 10'000'000;  // otherwise; deaths wake the leader at once

// Hands has, for a core whose owner `find_owner` has found RUNNING there:
//   passes(core)               scheduling points passed there
//   find_owner(core)           false: there is none, or somebody is just serving the core
//   sleeps(core)               whether the kernel says that the owner sleeps, or is stopped
//   ask(core)                  by a signal, to yield if it only waits; false: it cannot be asked
//   refuses(core)              whether it is not to be asked just now
//   answered(core)             whether the signal has arrived
//   waits_found()              how many of those asked have been found to wait by spinning
//   wake(core)                 true if it slept for want of the wake-up that goes with its grant
//   take(core, sleeps)         rescues the core, or makes the owner share it: it is at large then
// All zero at first. 1024 cores.
class Watchdog {
 public:
  // At a tick of the leader's. `threads_wait`: some are READY; `at_large`: some run without a core,
  // beside the owners (sched/at_large.h).
  template <class Hands>
  void look(Hands& hands, CoreIndex n_cores, bool threads_wait, bool at_large, Nanoseconds patience,
            Nanoseconds now) {
    if (!threads_wait) {
      waiting_since_ = 0;
    } else if (waiting_since_ == 0) {
      waiting_since_ = now;
    }
    // Else an owner that idles harms nobody.
    if (!threads_wait && !at_large) return;
    std::uint32_t found = hands.waits_found();
    if (found != waits_found_) spin_ticks_ = kExpectSpinning;
    waits_found_ = found;
    for (CoreIndex core = 0; core < n_cores; ++core) look_at(hands, core, patience, now);
  }

  // Before the first of several looks, by somebody who has not looked of late: others may have had
  // the cores and given them back meanwhile.
  void begin() { waiting_since_ = 0; }

  // How long until the next look.
  Nanoseconds next_tick(bool busy) {
    if (spin_ticks_) --spin_ticks_;
    return !busy ? kQuietTick : spin_ticks_ ? kSpinTick : kBusyTick;
  }

 private:
  static constexpr unsigned kExpectSpinning = 16;

  enum class Asked : std::uint8_t { no, yes, refused, cannot_be };
  struct Core {
    std::uint32_t passes;
    Asked asked;             // the owner, since it last passed a scheduling point
    Nanoseconds last_moved;  // when that was seen
    Nanoseconds asked_beside;
  };

  template <class Hands>
  void look_at(Hands& hands, CoreIndex core, Nanoseconds patience, Nanoseconds now) {
    Core& it = cores_[core];
    std::uint32_t passes = hands.passes(core);
    bool moved = passes != it.passes;
    it.passes = passes;
    if (moved) {
      it.last_moved = now;
      it.asked = Asked::no;
      return;
    }
    if (!hands.find_owner(core)) return;
    if (waiting_since_ == 0) return ask_beside(hands, core, now);
    bool sleeps = hands.sleeps(core);
    if (!sleeps) {
      bool over = now - std::max(it.last_moved, waiting_since_) >= patience;
      // It may have been between two waits when it was asked: it is asked again until then.
      if (it.asked == Asked::yes && spin_ticks_ && !over && hands.answered(core))
        it.asked = Asked::no;
      if (it.asked == Asked::no || (it.asked == Asked::refused && !over)) {
        it.asked = ask(hands, core);
        if (it.asked == Asked::yes) return;
      }
      if (!over) return;
    }
    if (hands.passes(core) != passes) return;
    if (sleeps && hands.wake(core)) return;
    hands.take(core, sleeps);
  }

  // An owner whose core nobody would get, beside threads at large.
  template <class Hands>
  void ask_beside(Hands& hands, CoreIndex core, Nanoseconds now) {
    constexpr Nanoseconds kPause = 64'000'000;
    Core& it = cores_[core];
    if (it.asked != Asked::no && now - it.asked_beside < kPause) return;
    if (!hands.sleeps(core)) it.asked = ask(hands, core);
    if (it.asked == Asked::refused) {
      it.asked = Asked::no;
    } else {
      it.asked_beside = now;
    }
  }

  template <class Hands>
  static Asked ask(Hands& hands, CoreIndex core) {
    if (hands.refuses(core)) return Asked::refused;
    if (hands.ask(core)) return Asked::yes;
    return hands.refuses(core) ? Asked::refused : Asked::cannot_be;
  }

  Core cores_[1024];
  unsigned spin_ticks_;  // for so many looks to come spinning is expected
  std::uint32_t waits_found_;
  Nanoseconds waiting_since_;  // since when threads have been waiting for cores, 0: none are
};

}  // namespace roost
