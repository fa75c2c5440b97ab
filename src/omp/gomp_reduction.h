// Task reductions as GCC describes them.
#pragma once

#include <cstdint>

#include "omp/team.h"

namespace roost::omp {

// Makes private copies for `members` members, and registers the description `data` with the group.
void register_reductions(TaskGroup& group, std::uintptr_t* data, unsigned members);

// Of a worksharing construct (reduction(task, ...)): opens a taskgroup in the caller's implicit
// task and registers `data`. `first`: what the first member of the team to come here has
// registered, whose private copies all use; null if the caller is the first. Ended by
// GOMP_workshare_task_reduction_unregister.
void register_task_reductions(std::uintptr_t* data, const std::uintptr_t* first);

}  // namespace roost::omp
