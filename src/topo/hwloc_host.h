// The machine from hwloc, for tools: what sysfs tells, seen through a library that knows more
// machines.
#pragma once

#include <hwloc.h>

#include "topo/machine.h"

namespace roost {

// Describes the CPUs of `cpus` from a loaded topology. 0, or -EINVAL if there are none.
int machine_from_hwloc(hwloc_topology_t, const CpuSet& cpus, Machine&);

// The same for the machine the program runs on; -EIO if hwloc cannot read it.
int machine_from_hwloc(const CpuSet& cpus, Machine&);

}  // namespace roost
