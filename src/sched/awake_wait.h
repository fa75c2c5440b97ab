// Whether threads that wait for a core should stay in the kernel's run queue for a moment.
//
// A thread that sleeps until its grant costs a futex wake and a futex wait at each hand-over. One
// that calls sched_yield once instead stays in the kernel's queue of its CPU: its granter needs no
// wake, and the kernel goes from one to the next, at less than half the price. But if the kernel
// picks it before it is granted the core, that turn was for nothing. Which it is depends on the
// program, so it is tried: for some waits, and for longer where they pay. Where threads Roost does
// not know want the same CPU, a thread that yields gives it to them for a whole slice, so it stops
// at once. Decision and figures: docs/design/023-waiting-awake.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/types.h"

namespace roost {

// What is known of the waits of one kind on one core. All threads of the process read and change
// it, and may lose each other's changes: the worst is a try more or less.
class AwakeWaits {
 public:
  // Of a ring of futexes and one of yields on one CPU: to sleep takes 3.6 us a hand-over, to wait
  // awake 1.4 us, so it saves time if it succeeds in two of five waits.
  static constexpr int kGain = 3, kLoss = 2;
  static constexpr int kSettling = 32;  // first waits of a trial, while others still sleep
  static constexpr int kTrial = 96;     // waits in a trial
  static constexpr int kFirstPause = 1024, kLongestPause = 16384;  // waits between two trials
  // A grant is late if the thread ran so much later; that often in a trial, and others use the CPU.
  static constexpr Nanoseconds kLate = 200'000;
  static constexpr int kLateWaits = 2;
  static constexpr int kFirstRetreat = 8192, kLongestRetreat = 1 << 20;  // waits, after that

  // Whether to wait awake this time.
  bool worth_it() {
    int left = pause_left_.load(std::memory_order_relaxed);
    if (left == 0) return true;
    pause_left_.store(left - 1, std::memory_order_relaxed);
    return false;
  }

  // The thread waited awake, and was granted the core before the kernel picked it again or not;
  // `late` is how long after its grant it ran.
  void waited(bool granted, Nanoseconds late) {
    int waits = add(waits_, 1);
    if (granted && late >= kLate && add(late_waits_, 1) >= kLateWaits) {
      give_up(kFirstRetreat, kLongestRetreat);
      return;
    }
    if (waits > kSettling) add(saved_, granted ? kGain : -kLoss);
    if (waits < kTrial) return;
    if (saved_.load(std::memory_order_relaxed) > 0) {
      pause_.store(pause_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
      begin_trial();
    } else {
      give_up(kFirstPause, kLongestPause);
    }
  }

 private:
  static int add(std::atomic<int>& to, int more) {
    int sum = to.load(std::memory_order_relaxed) + more;
    to.store(sum, std::memory_order_relaxed);
    return sum;
  }
  void begin_trial() {
    for (std::atomic<int>* count : {&waits_, &saved_, &late_waits_})
      count->store(0, std::memory_order_relaxed);
  }
  void give_up(int first, int longest) {
    int pause = std::clamp(2 * pause_.load(std::memory_order_relaxed), first, longest);
    pause_.store(pause, std::memory_order_relaxed);
    pause_left_.store(pause, std::memory_order_relaxed);
    begin_trial();
  }

  std::atomic<int> waits_{0}, saved_{0}, late_waits_{0};  // of this trial
  std::atomic<int> pause_{0}, pause_left_{0};
};

}  // namespace roost
