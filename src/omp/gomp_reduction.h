// Task reductions as GCC describes them.
#pragma once

#include <cstdint>

#include "omp/team.h"

namespace roost::omp {

// Makes private copies for `members` members, and registers the description `data` with the group.
void register_reductions(TaskGroup& group, std::uintptr_t* data, unsigned members);

}  // namespace roost::omp
