// Which rank of a parallel job the process is.
#pragma once

#include "sched/seats.h"

namespace roost {

// As the launcher says in `environment` (Open MPI, MPICH and its kin, Slurm), the vector handed to
// constructors; none if there is no launcher.
Rank rank_in(char** environment);

}  // namespace roost
