// How many threads each call of a threaded library should use (its width, or degree of
// parallelism), so that an instance's cores are filled and not more.
//
// Calls of width w by k callers make k*w threads. Where k*w exceeds the cores the calls only take
// turns, and each is cut finer than it need be: bench/OPENBLAS.md shows what that costs. So the
// width is the cores divided by the callers, of which only the threads are seen that they make, or
// they themselves, where light threads do the rest.
#pragma once

#include <algorithm>

namespace roost {

class CallWidth {
 public:
  static constexpr unsigned kOne = 16;  // one caller

  // A look at the instance.
  struct Sample {
    unsigned cores;  // but for those that are left to other programs
    unsigned busy_cores;
    unsigned runnable;      // threads of this process that run or are READY
    unsigned lock_waiters;  // threads of this process that wait for a mutex: a library that makes
                            // its threaded calls take turns keeps callers there
    unsigned others;        // callers of the other processes, in sixteenths (`callers`)
    bool any_ready;         // in the whole instance
    bool crews = false;     // a call has the one thread that makes it, whatever its width
  };

  // The width from now on, 1 to `widest`; `width` is the one in force, whose threads were seen.
  unsigned next(const Sample& s, unsigned width, unsigned widest) {
    judge_locks(s);
    unsigned now = std::max(kOne, kOne * s.runnable / (s.crews ? 1 : std::max(width, 1u)));
    if (locks_hide_callers_) now += kOne * s.lock_waiters;
    callers_ = callers_ == 0 ? now : (callers_ + now) / 2;
    // A caller missing now and then is no reason to leave cores idle: 0.3 of a thread is rounded
    // up.
    unsigned share = kOne * s.cores + 3 * (callers_ + s.others) / 10;
    unsigned wanted = std::clamp(share / (callers_ + s.others), 1u, std::max(widest, 1u));
    // Twice the same, so that a moment between two calls changes nothing.
    undecided_ = wanted != wanted_before_;
    wanted_before_ = wanted;
    return undecided_ ? std::clamp(width, 1u, std::max(widest, 1u)) : wanted;
  }

  // Whether another look soon may change the width.
  bool undecided() const { return undecided_; }

  // Callers as estimated, in sixteenths; 0 before the first look.
  unsigned callers() const { return callers_; }

 private:
  static constexpr unsigned kJudgement = 8;   // looks
  static constexpr unsigned kLongest = 4096;  // looks, some minutes

  // Threads behind a lock of the program's own stay there however narrow the calls are: if cores
  // are idle for want of threads while some wait for locks, they do not count for a while.
  void judge_locks(const Sample& s) {
    if (!locks_hide_callers_) {
      locks_hide_callers_ = --until_trusted_ == 0;
      in_vain_ = 0;
      return;
    }
    bool in_vain = s.lock_waiters > 0 && !s.any_ready && s.busy_cores < s.cores;
    in_vain_ = in_vain ? in_vain_ + 1 : 0;
    if (in_vain_ < kJudgement) return;
    locks_hide_callers_ = false;
    until_trusted_ = distrust_;
    distrust_ = std::min(2 * distrust_, kLongest);
  }

  unsigned callers_ = 0;
  unsigned wanted_before_ = 0;
  bool undecided_ = true;
  bool locks_hide_callers_ = true;
  unsigned in_vain_ = 0;
  unsigned distrust_ = 64;
  unsigned until_trusted_ = 0;
};

}  // namespace roost
