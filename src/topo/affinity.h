// The kernel's affinity mask of a thread, as it is: past whatever Roost tells programs about it.
#pragma once

#include <sys/types.h>

#include "topo/cpu_set.h"

namespace roost {

// The CPUs on which `tid` (0: the caller) may run, without those from kMaxCores on. 0 or -errno.
int affinity_of(pid_t tid, CpuSet& cpus);

}  // namespace roost
