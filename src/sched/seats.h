// Where the ranks of parallel jobs sit: with more ranks than cores, each core serves ranks that
// follow each other, of one job if it can be (docs/design/033-seats-of-ranks.md).
//
// Ranks wait for messages of each other by polls, and nobody can tell for whose. On one core a rank
// that waits for another lets that one run, and the core always has work; apart, a core whose ranks
// all wait for those of another has none. So whoever yields goes back to its seat.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"

namespace roost {

// Which process a rank is, as its launcher says. Fits in a word, which is 0 for who is none.
struct Rank {
  std::uint32_t job = 0;    // the launcher's process ID
  std::uint16_t index = 0;  // among the job's ranks on this node, from 0
  std::uint16_t count = 0;  // of them

  static constexpr Rank from(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 16),
            static_cast<std::uint16_t>(word)};
  }
  constexpr std::uint64_t word() const {
    return std::uint64_t{job} << 32 | std::uint64_t{index} << 16 | count;
  }
};

// Finds the seat of `own` once it has been shown the ranks of all processes of an instance. A job
// counts with all its ranks as soon as there is one of them; jobs beyond the 64th do not count.
class Seating {
 public:
  explicit constexpr Seating(Rank own) : own_(own) {}

  constexpr void add(Rank rank) {
    if (rank.count == 0 || is_known(rank.job) || n_jobs_ == kMaxJobs) return;
    jobs_[n_jobs_++] = rank.job;
    ranks_ += rank.count;
    if (rank.job < own_.job) before_ += rank.count;
  }

  // The core of `n_cores`; kNoCore if there is one for each rank.
  constexpr CoreIndex seat(CoreIndex n_cores) const {
    if (ranks_ <= n_cores || !is_known(own_.job)) return kNoCore;
    std::uint64_t place = std::min(before_ + own_.index, ranks_ - 1);  // whatever it says it is
    return static_cast<CoreIndex>(place * n_cores / ranks_);
  }

 private:
  static constexpr unsigned kMaxJobs = 64;
  constexpr bool is_known(std::uint32_t job) const {
    for (unsigned i = 0; i < n_jobs_; ++i)
      if (jobs_[i] == job) return true;
    return false;
  }

  Rank own_;
  std::uint32_t jobs_[kMaxJobs] = {};
  unsigned n_jobs_ = 0;
  std::uint64_t before_ = 0;  // ranks of jobs that come before it
  std::uint64_t ranks_ = 0;
};

}  // namespace roost
