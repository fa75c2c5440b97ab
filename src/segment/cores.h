// From a description of the machine to the cores of an instance.
#pragma once

#include "segment/segment.h"
#include "topo/machine.h"

namespace roost {

// Fills in config.cores and config.n_cores; the cores keep the machine's order (by NUMA node).
inline void describe_cores(const Machine& machine, SegmentConfig& config) {
  config.n_cores = machine.n_cores;
  for (CoreIndex first = 0; first < machine.n_cores;) {
    CoreIndex end = first;
    while (end < machine.n_cores && machine.cores[end].numa_node == machine.cores[first].numa_node)
      ++end;
    for (CoreIndex c = first; c < end; ++c) {
      const Core& core = machine.cores[c];
      config.cores[c] = {core.os_cpu, core.numa_node, core.socket, core.llc, first, end};
    }
    first = end;
  }
}

}  // namespace roost
