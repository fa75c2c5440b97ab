// Cancellation: only where OMP_CANCELLATION is set.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// Cancels the parallel region, loop or sections the member is in; `construct`: a bit of
// Team::cancelled.
void cancel_construct(Member& member, std::uint32_t construct);
bool construct_cancelled(const Member& member, std::uint32_t construct);
// Cancels the taskgroup the current task is in, if any: its tasks that have not begun never do.
void cancel_taskgroup(Member& member);

}  // namespace roost::omp
