// Ranks that a launcher of parallel jobs has bound, each to cores of its own.
#pragma once

#include <optional>

#include "cli/lookup.h"
#include "topo/cpu_set.h"

namespace roost::cli {

struct BoundRank {
  CpuSet own;  // what the launcher has bound this process to
  CpuSet job;  // what all ranks of the job may use on this node; more than that
};

// Whether this process is such a rank, as in `mpirun -n 4 roost run ./solver`: Open MPI, MPICH and
// their kin, and Slurm say so in variables. Nothing if it is in an instance already, or if the
// cores of the job cannot be told.
std::optional<BoundRank> find_bound_rank(const Lookup&);

// The rank shares the cores of its job from now on, since instances are for all ranks of a node,
// and the program is told the cores it was bound to, as ever: sets the affinity of this process and
// a variable for the program.
void share_cores_of_job(const BoundRank&);

}  // namespace roost::cli
