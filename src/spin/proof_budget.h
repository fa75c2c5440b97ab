// How long a long proof may be for a thread that may only compute: some two hundredths of the time
// since the last one.
#pragma once

#include "base/ticks.h"

namespace roost::spin {

// Of one thread.
class ProofBudget {
 public:
  // Instructions. A thread that was last found waiting has nothing to lose.
  unsigned steps() const {
    if (found_) return kOfWaiter;
    std::uint64_t steps = (ticks() - last_) / (kTicksOfStep * kShare);
    return steps < kLeast ? kLeast : steps > kMost ? kMost : static_cast<unsigned>(steps);
  }
  // After a proof.
  void used(bool found) {
    found_ = found;
    last_ = ticks();
  }

 private:
  static constexpr unsigned kLeast = 1024, kOfWaiter = 16384, kMost = 65536;
  static constexpr std::uint64_t kTicksOfStep = 60, kShare = 50;
  std::uint64_t last_ = 0;
  bool found_ = false;
};

}  // namespace roost::spin
