// The machine from the kernel's sysfs, for guests: cheap, without a library.
#pragma once

#include "topo/machine.h"

namespace roost {

// Describes the CPUs of `cpus` from <root>/sys/devices/system; `root` is "" but in tests. What
// files do not tell is filled in as machine_arrange says. 0, or -EINVAL if `cpus` is empty. Cost:
// about four small files for each physical core.
int machine_from_sysfs(const char* root, const CpuSet& cpus, Machine&);

}  // namespace roost
