// The machine as an instance sees it: its cores, numbered densely, and what they share.
//
// Whatever source describes a machine (sysfs, hwloc, a synthetic string) fills in the cores with
// any group numbers it likes and calls machine_arrange; the result is then the same for all
// sources. Plain data without pointers, about 15 KiB.
#pragma once

#include <cstdint>

#include "topo/cpu_set.h"

namespace roost {

inline constexpr unsigned kMaxNodes = 64;
// Distances in the kernel's units (ACPI SLIT): 10 is local.
inline constexpr std::uint8_t kLocalDistance = 10;
inline constexpr std::uint8_t kRemoteDistance = 20;

// A CPU. The groups are numbered from 0 in the order in which the cores list them.
struct Core {
  std::uint16_t os_cpu;  // the kernel's CPU number
  std::uint16_t numa_node;
  std::uint16_t socket;
  std::uint16_t llc;                // last-level cache
  std::uint16_t smt_sibling_group;  // the physical core

  bool operator==(const Core&) const = default;
};

// A group number no source knew: machine_arrange then assumes one socket, one last-level cache for
// each socket's part of a NUMA node, and CPUs that are physical cores.
inline constexpr std::uint16_t kUnknownGroup = 0xffff;

struct Machine {
  std::uint16_t n_cores = 0;
  std::uint16_t n_nodes = 0;
  Core cores[kMaxCores] = {};             // sorted by NUMA node, then by os_cpu
  std::uint16_t os_node[kMaxNodes] = {};  // the kernel's number of each node
  std::uint8_t distance[kMaxNodes][kMaxNodes] = {};

  bool operator==(const Machine&) const = default;
};

// Sorts the cores and numbers all groups from 0. Before it, a core's numa_node is an index into
// os_node and distance, other groups are any numbers below kMaxCores or kUnknownGroup. Nodes
// without cores are dropped.
void machine_arrange(Machine&);

// Drops all cores but those of `keep` and arranges the rest.
void machine_keep(Machine&, const CpuSet& keep);

// Fills the distances of `n_nodes` nodes as if every other node were equally far.
void machine_flat_distances(Machine&, unsigned n_nodes);

CpuSet machine_cpus(const Machine&);

}  // namespace roost
