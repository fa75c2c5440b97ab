// Which cores an instance gets: what its creator may use, cut to the CPU quota or to what was
// asked.
#pragma once

#include "base/text.h"
#include "topo/machine.h"

namespace roost {

// What the user asked for (`--cpus`, `--cores`); either overrides the quota.
struct CoreRequest {
  const char* cpus = nullptr;  // a CPU list, or null
  unsigned cores = 0;          // how many, or 0
};

// Reduces `machine`, which describes the affinity mask, to the instance's cores: those listed; else
// the number asked for; else as many as the quota allows (0: all). A number of cores is taken
// compactly: as few NUMA nodes as can be, whole ones first, and within a node likewise as few
// caches, there one CPU of each physical core before a second. 0, -EINVAL or -ERANGE with a
// sentence in `error`.
int select_cores(Machine& machine, const CoreRequest&, unsigned quota, ErrorText& error);

// All in one: the machine of an instance whose creator has the affinity mask `mask`, from sysfs and
// the quota of the calling process. `root` is "" but in tests.
int machine_of_instance(const char* root, const CpuSet& mask, const CoreRequest&, Machine&,
                        ErrorText& error);

}  // namespace roost
