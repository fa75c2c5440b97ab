// From a description of the machine to the cores of an instance.
#pragma once

#include "segment/segment.h"
#include "topo/machine.h"

namespace roost {

// The next hardware thread of the same physical core, round in a ring, relative to `c`; 0: none.
// first .. end-1 are the cores of its NUMA node.
inline std::int16_t to_sibling(const Machine& machine, CoreIndex c, CoreIndex first,
                               CoreIndex end) {
  for (unsigned step = 1; step < static_cast<unsigned>(end - first); ++step) {
    unsigned other = first + (c - first + step) % (end - first);
    if (machine.cores[other].smt_sibling_group == machine.cores[c].smt_sibling_group)
      return static_cast<std::int16_t>(static_cast<int>(other) - c);
  }
  return 0;
}

// Fills in config.cores and config.n_cores; the cores keep the machine's order (by NUMA node).
inline void describe_cores(const Machine& machine, SegmentConfig& config) {
  config.n_cores = machine.n_cores;
  for (CoreIndex first = 0; first < machine.n_cores;) {
    CoreIndex end = first;
    while (end < machine.n_cores && machine.cores[end].numa_node == machine.cores[first].numa_node)
      ++end;
    for (CoreIndex c = first; c < end; ++c) {
      const Core& core = machine.cores[c];
      config.cores[c] = {core.os_cpu,
                         core.numa_node,
                         core.socket,
                         core.llc,
                         first,
                         end,
                         to_sibling(machine, c, first, end)};
    }
    first = end;
  }
}

}  // namespace roost
