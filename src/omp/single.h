// Single constructs: the first member to come executes the region.
//
// The team counts the constructs that somebody has entered, each member those it has come to. All
// come to the same ones in the same order, so the count is never behind a member by more than the
// construct the member is at, and nothing has to be cleaned.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// Whether the caller is the first of its team in its next single construct. One atomic operation
// for a few, a load for who comes later; of two, either pays less if it does not look first, which
// would fetch the line twice.
inline bool first_in_single(Member& member) {
  Team& team = *member.team;
  if (team.size == 1) return true;
  std::uint32_t before = member.singles++;
  // Equal numbers may be different constructs only after 2^32 constructs of one region.
  if (team.size > 2 && team.singles.load(std::memory_order_relaxed) != before) return false;
  return team.singles.compare_exchange_strong(before, before + 1, std::memory_order_acq_rel);
}

// Tells a tool of the construct the member has come to.
inline void tell_single(Member& member, bool executes) {
  if (executes) {
    ompt::work_begins(member, ompt::Work::single_executor, 1);
  } else {
    ompt::work_skipped(member, ompt::Work::single_other);
  }
}

}  // namespace roost::omp
