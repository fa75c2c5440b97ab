// What long proofs may cost a thread that may only compute: a fiftieth of its CPU time, whatever a
// step takes (20 ns, or microseconds where it looks at memory that none before has looked at).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"

namespace roost::spin {

// What one proof may cost, and whether that was too little.
struct ProofLimit {
  unsigned steps;                    // instructions
  Nanoseconds until = 0;             // of `clock`
  Nanoseconds (*clock)() = nullptr;  // the thread's CPU time; null: time does not matter
  bool ran_out = false;              // it might have come to something with more

  // Asked now and then, as it takes a system call.
  bool time_is_over() {
    if (!clock || clock() < until) return false;
    ran_out = true;
    return true;
  }
};

// Of one thread. All times are those of its CPU clock.
//
// It saves a fiftieth of what it computes, a quarter of that for short proofs, which find most
// waits. Another one ends when its savings do; one that ends so, or for want of steps, is made
// again when twice as much has been saved, with twice the steps: so each round is proved at last
// that can be in kMost.
class ProofBudget {
 public:
  // False if it is not time for a proof.
  bool begin(Nanoseconds (*clock)(), ProofLimit& limit) {
    Nanoseconds now = clock();
    if (ended_ == 0 || now < ended_) {  // its first, or the first of the child of a fork
      *this = {};
      for_short_ = kShort;
      for_others_ = kFirst;
    } else {
      auto quarter = static_cast<std::int64_t>((now - ended_) / (4 * kShare));
      for_short_ = std::min(for_short_ + quarter, kShort);
      for_others_ = std::min(for_others_ + 3 * quarter, kMost);
    }
    began_ = ended_ = now;
    // One that was last found waiting has nothing to lose.
    is_short_ = !found_ && for_others_ < needed_;
    if (is_short_ && for_short_ < kShort) return false;
    std::int64_t time = is_short_ ? kShort : found_ ? std::max(for_others_, kFirst) : for_others_;
    limit = {is_short_ ? kFewSteps : steps_, now + static_cast<Nanoseconds>(time), clock};
    return true;
  }

  void end(const ProofLimit& limit, bool found) {
    ended_ = limit.clock();
    auto took = static_cast<std::int64_t>(ended_ - began_);
    found_ = found;
    if (found) return;
    (is_short_ ? for_short_ : for_others_) -= took;
    if (is_short_) return;
    needed_ = std::min(limit.ran_out ? 2 * took : took, kMost);
    steps_ = limit.ran_out ? std::min(2 * steps_, kMostSteps) : kUsualSteps;
  }

 private:
  static constexpr unsigned kFewSteps = 1024, kUsualSteps = 16384, kMostSteps = 65536;
  static constexpr std::int64_t kShort = 40'000, kFirst = 5'000'000, kMost = 20'000'000;
  static constexpr Nanoseconds kShare = 50;

  Nanoseconds began_ = 0, ended_ = 0;
  std::int64_t for_short_ = 0, for_others_ = 0;  // savings; below zero: more was spent
  std::int64_t needed_ = 0;                      // for the next one that is not short
  unsigned steps_ = kUsualSteps;
  bool found_ = false;
  bool is_short_ = false;
};

}  // namespace roost::spin
