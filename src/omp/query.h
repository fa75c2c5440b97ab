// What the API and the formats ask of the teams around a member.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// The number of the member's ancestor (or itself) at the nesting level, -1 if there is no such
// level.
int ancestor_number(const Member& member, int level);
// The size of the team it is in, -1 as above.
int ancestor_team_size(const Member& member, int level);

}  // namespace roost::omp
