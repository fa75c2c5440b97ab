// How long a long proof may be for a thread that may only compute: some fiftieth of the CPU time it
// has had since the last one, by what that one took. A step takes 20 ns, or a microsecond where it
// looks at memory that none before has looked at.
#pragma once

#include "base/types.h"

namespace roost::spin {

// Of one thread.
class ProofBudget {
 public:
  // Begins a proof, at that time of the thread's CPU clock: instructions, 0 if it is not time for
  // one. A thread that was last found waiting has nothing to lose.
  unsigned begin(Nanoseconds now) {
    steps_ = steps_for(now - ended_);
    began_ = now;
    return steps_;
  }
  // After a proof with that many.
  void end(Nanoseconds now, bool found) {
    found_ = found;
    ended_ = now;
    step_ns_ = (now - began_) / steps_;
    if (step_ns_ < kLeastCost) step_ns_ = kLeastCost;
  }

 private:
  static constexpr unsigned kLeast = 1024, kUsual = 16384, kMost = 65536;
  static constexpr Nanoseconds kLeastCost = 20, kShare = 50;

  unsigned steps_for(Nanoseconds elapsed) const {
    if (found_ || !ended_) return kUsual;
    Nanoseconds steps = elapsed / (step_ns_ * kShare);
    // One that costs little is short enough always.
    if (steps < kLeast) return step_ns_ == kLeastCost ? kLeast : 0;
    return steps > kMost ? kMost : static_cast<unsigned>(steps);
  }

  Nanoseconds began_ = 0, ended_ = 0;
  Nanoseconds step_ns_ = kLeastCost;
  unsigned steps_ = 0;
  bool found_ = false;
};

}  // namespace roost::spin
