// Chooses the cores of an instance.
#include "topo/select.h"

#include <algorithm>
#include <cerrno>

#include "topo/cpulist.h"
#include "topo/quota.h"
#include "topo/sysfs.h"

namespace roost {
namespace {

// How far a node is from those that some of the chosen cores lie in.
unsigned distance_to_chosen(const Machine& machine, unsigned node, const CpuSet& chosen) {
  CpuSet seen;  // of node numbers
  unsigned total = 0;
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    const Core& core = machine.cores[i];
    if (!chosen.test(core.os_cpu) || seen.test(core.numa_node)) continue;
    seen.set(core.numa_node);
    total += machine.distance[core.numa_node][node];
  }
  return total;
}

// One thread of each physical core, then the second of each, until there are `wanted`.
void choose_threads(const Machine& machine, CpuSet from, unsigned wanted, CpuSet& chosen) {
  while (wanted) {
    CpuSet served;  // physical cores of this turn
    for (unsigned i = 0; i < machine.n_cores && wanted; ++i) {
      const Core& core = machine.cores[i];
      if (!from.test(core.os_cpu) || served.test(core.smt_sibling_group)) continue;
      served.set(core.smt_sibling_group);
      from.clear(core.os_cpu);
      chosen.set(core.os_cpu);
      --wanted;
    }
  }
}

constexpr std::uint16_t Core::*kGroupings[] = {&Core::numa_node, &Core::llc};
constexpr unsigned kThreads = 2;  // below the groupings

struct Group {
  unsigned number;
  CpuSet members;
};

// The group to take next for `wanted` cores: the smallest that has them all, else the largest; of
// equals the one nearest to what is chosen, then the first.
Group best_group(const Machine& machine, const CpuSet& from, unsigned grouping, unsigned wanted,
                 const CpuSet& chosen) {
  std::uint16_t sizes[kMaxCores] = {};
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    const Core& core = machine.cores[i];
    if (from.test(core.os_cpu)) ++sizes[core.*kGroupings[grouping]];
  }
  bool nodes = grouping == 0;
  unsigned best = kMaxCores;
  unsigned best_distance = 0;
  for (unsigned group = 0; group < kMaxCores; ++group) {
    unsigned size = sizes[group];
    if (size == 0) continue;
    bool better = best == kMaxCores;
    if (!better && size != sizes[best]) {
      bool fits = size >= wanted;
      bool best_fits = sizes[best] >= wanted;
      better = fits != best_fits ? fits : (fits ? size < sizes[best] : size > sizes[best]);
      if (!better) continue;
    }
    unsigned distance = nodes ? distance_to_chosen(machine, group, chosen) : 0;
    if (!better && distance >= best_distance) continue;
    best = group;
    best_distance = distance;
  }
  Group result{best, {}};
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    const Core& core = machine.cores[i];
    if (from.test(core.os_cpu) && core.*kGroupings[grouping] == best)
      result.members.set(core.os_cpu);
  }
  return result;
}

// Adds `wanted` cores of `from`, which has at least as many, to `chosen`.
void choose(const Machine& machine, CpuSet from, unsigned grouping, unsigned wanted,
            CpuSet& chosen) {
  if (grouping == kThreads) return choose_threads(machine, from, wanted, chosen);
  while (wanted) {
    Group group = best_group(machine, from, grouping, wanted, chosen);
    unsigned take = std::min(wanted, group.members.count());
    choose(machine, group.members, grouping + 1, take, chosen);
    from = from.without(group.members);
    wanted -= take;
  }
}

void keep_compact(Machine& machine, unsigned wanted) {
  if (wanted >= machine.n_cores) return;
  CpuSet chosen;
  choose(machine, machine_cpus(machine), 0, wanted, chosen);
  machine_keep(machine, chosen);
}

int keep_listed(Machine& machine, const char* list, ErrorText& error) {
  CpuSet wanted;
  ErrorText reason;
  if (int failed = parse_cpulist(list, wanted, reason)) {
    error << "the CPU list '";
    error.append(list, 60);
    error << "' is wrong: " << reason.c_str();
    return failed;
  }
  if (wanted.count() == 0) {
    error << "the CPU list is empty; write one like 0-3,8";
    return -EINVAL;
  }
  CpuSet mask = machine_cpus(machine);
  CpuSet outside = wanted.without(mask);
  if (outside.count()) {
    error << (outside.count() == 1 ? "CPU " : "CPUs ") << brief_cpulist(outside).c_str()
          << (outside.count() == 1 ? " is" : " are") << " outside the affinity mask, which is "
          << brief_cpulist(mask).c_str();
    return -ERANGE;
  }
  machine_keep(machine, wanted);
  return 0;
}

}  // namespace

int select_cores(Machine& machine, const CoreRequest& request, unsigned quota, ErrorText& error) {
  error.clear();
  if (request.cpus && request.cores) {
    error << "a CPU list and a number of cores exclude each other";
    return -EINVAL;
  }
  if (request.cpus) return keep_listed(machine, request.cpus, error);
  if (request.cores > machine.n_cores) {
    error << request.cores << " cores are asked for, and the affinity mask, "
          << brief_cpulist(machine_cpus(machine)).c_str() << ", has " << machine.n_cores;
    return -ERANGE;
  }
  unsigned wanted = request.cores ? request.cores : quota;
  if (wanted) keep_compact(machine, wanted);
  return 0;
}

int machine_of_instance(const char* root, const CpuSet& mask, const CoreRequest& request,
                        Machine& machine, ErrorText& error) {
  error.clear();
  if (int failed = machine_from_sysfs(root, mask, machine)) {
    error << "the affinity mask has none of the CPUs 0 to " << kMaxCores - 1;
    return failed;
  }
  return select_cores(machine, request, cpu_quota(root), error);
}

}  // namespace roost
