// Explicit tasks that wait to be executed: a deque for each member.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// Whether the process has ever created an explicit task: workers that are done with their part of a
// region then stay to help with its tasks.
extern constinit std::atomic<bool> tasks_in_use;

// Executes one task of the member's team as that member: its own newest, or another's oldest. False
// if there is none it may execute now.
bool run_task(Member& member);

}  // namespace roost::omp
