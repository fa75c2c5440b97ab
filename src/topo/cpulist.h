// CPU lists as people and the kernel write them: "0-3,8,10-11".
#pragma once

#include <cstddef>

#include "base/text.h"
#include "topo/cpu_set.h"

namespace roost {

// Long enough for any list of kMaxCores CPUs.
using CpuListText = Text<4096>;

// Reads a list; white space around it (the newline of a kernel's file) and an empty list are fine.
// 0, or -EINVAL or -ERANGE (a CPU number of kMaxCores or more), with `error` naming the place.
int parse_cpulist(const char* list, CpuSet& cpus, ErrorText& error);

// Writes a list in ascending order with the longest ranges, as the kernel does; "" for none.
CpuListText format_cpulist(const CpuSet& cpus);

// For sentences: as format_cpulist, cut to about 80 characters with "..." at the end.
Text<96> brief_cpulist(const CpuSet& cpus);

}  // namespace roost
