// What depends on how deep a region is nested.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// Values that OMP_NUM_THREADS and OMP_PROC_BIND give for a level.
void inherit_by_level(Icvs& icvs, unsigned level);

// Whether each member of the team has an OS thread of its own, always the same for the same number
// in successive regions. Others share OS threads where there are more members than cores to spare,
// and with them thread-local variables. By default these are the outermost regions of programs that
// have thread-local variables themselves (gcc's threadprivate is one), and all regions while a tool
// is attached: tools keep what is open by thread. ROOST_OMP_LEVELS=N: all regions up to level N.
bool on_os_threads(const Team& team);

}  // namespace roost::omp
