// Translates an hwloc topology.
#include "topo/hwloc_host.h"

#include <hwloc/distances.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

namespace roost {
namespace {

using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

// A group's name is its first CPU, as in sysfs.
std::uint16_t group_of(hwloc_obj_t object) {
  if (!object) return kUnknownGroup;
  int first = hwloc_bitmap_first(object->cpuset);
  return first >= 0 && first < static_cast<int>(kMaxCores) ? static_cast<std::uint16_t>(first)
                                                           : kUnknownGroup;
}

hwloc_obj_t last_level_cache(hwloc_obj_t pu) {
  hwloc_obj_t cache = nullptr;
  for (hwloc_obj_t up = pu->parent; up; up = up->parent) {
    if (hwloc_obj_type_is_dcache(up->type)) cache = up;
  }
  return cache;
}

// hwloc also gives CPUs to nodes that are memory alone (they are local to them); the kernel gives
// each CPU one node, which hwloc lists first.
std::vector<hwloc_obj_t> nodes_with_cpus(hwloc_topology_t topology, const CpuSet& cpus) {
  std::vector<hwloc_obj_t> nodes;
  Bitmap covered(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  Bitmap wanted(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  for (unsigned cpu = cpus.first(); cpu < kMaxCores; cpu = cpus.next(cpu)) {
    hwloc_bitmap_set(wanted.get(), cpu);
  }
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
    bool ours = hwloc_bitmap_intersects(node->cpuset, wanted.get());
    if (!ours || hwloc_bitmap_intersects(node->cpuset, covered.get())) continue;
    hwloc_bitmap_or(covered.get(), covered.get(), node->cpuset);
    nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](hwloc_obj_t a, hwloc_obj_t b) { return a->os_index < b->os_index; });
  if (nodes.size() > kMaxNodes) nodes.resize(kMaxNodes);
  return nodes;
}

void read_distances(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& nodes,
                    Machine& machine) {
  machine_flat_distances(machine, std::max<unsigned>(1, static_cast<unsigned>(nodes.size())));
  unsigned count = 1;
  hwloc_distances_s* latency = nullptr;
  if (hwloc_distances_get_by_name(topology, "NUMALatency", &count, &latency, 0) != 0 || count == 0)
    return;
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    for (std::size_t b = 0; b < nodes.size(); ++b) {
      int from = hwloc_distances_obj_index(latency, nodes[a]);
      int to = hwloc_distances_obj_index(latency, nodes[b]);
      if (from < 0 || to < 0) continue;
      auto value =
          latency
              ->values[static_cast<unsigned>(from) * latency->nbobjs + static_cast<unsigned>(to)];
      machine.distance[a][b] = static_cast<std::uint8_t>(std::min<hwloc_uint64_t>(value, 255));
    }
  }
  hwloc_distances_release(topology, latency);
}

}  // namespace

int machine_from_hwloc(hwloc_topology_t topology, const CpuSet& cpus, Machine& machine) {
  machine = Machine{};
  if (cpus.count() == 0) return -EINVAL;
  std::vector<hwloc_obj_t> nodes = nodes_with_cpus(topology, cpus);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    machine.os_node[i] = static_cast<std::uint16_t>(nodes[i]->os_index);
  }
  read_distances(topology, nodes, machine);
  for (unsigned cpu = cpus.first(); cpu < kMaxCores; cpu = cpus.next(cpu)) {
    Core core{static_cast<std::uint16_t>(cpu), 0, kUnknownGroup, kUnknownGroup, kUnknownGroup};
    if (hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, cpu)) {
      core.socket = group_of(hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, pu));
      core.llc = group_of(last_level_cache(pu));
      core.smt_sibling_group =
          group_of(hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (hwloc_bitmap_isset(nodes[i]->cpuset, cpu)) core.numa_node = static_cast<std::uint16_t>(i);
    }
    machine.cores[machine.n_cores++] = core;
  }
  machine_arrange(machine);
  return 0;
}

int machine_from_hwloc(const CpuSet& cpus, Machine& machine) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return -EIO;
  int result =
      hwloc_topology_load(topology) != 0 ? -EIO : machine_from_hwloc(topology, cpus, machine);
  hwloc_topology_destroy(topology);
  return result;
}

}  // namespace roost
