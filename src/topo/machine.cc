// Brings a machine described by any source into its one form: sorted cores, dense group numbers.
#include "topo/machine.h"

#include <algorithm>
#include <cstring>

namespace roost {
namespace {

// Gives numbers 0, 1, 2 ... to the values of one field, in the order in which they turn up.
class DenseNumbers {
 public:
  DenseNumbers() { std::fill(number_of_, number_of_ + kMaxCores, kUnknownGroup); }
  std::uint16_t operator()(std::uint16_t value) {
    std::uint16_t& number = number_of_[value % kMaxCores];
    if (number == kUnknownGroup) number = count_++;
    return number;
  }
  unsigned count() const { return count_; }

 private:
  std::uint16_t number_of_[kMaxCores];
  std::uint16_t count_ = 0;
};

void number_densely(Machine& machine, std::uint16_t Core::*field) {
  DenseNumbers number;
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    machine.cores[i].*field = number(machine.cores[i].*field);
  }
}

void number_nodes(Machine& machine) {
  // Not all of the machine: the stack may be a small one.
  struct {
    decltype(Machine::os_node) os_node;
    decltype(Machine::distance) distance;
  } before;
  std::memcpy(before.os_node, machine.os_node, sizeof before.os_node);
  std::memcpy(before.distance, machine.distance, sizeof before.distance);
  DenseNumbers number;
  std::uint16_t old_index[kMaxNodes] = {};
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    std::uint16_t old = machine.cores[i].numa_node;
    machine.cores[i].numa_node = number(old);
    old_index[machine.cores[i].numa_node] = old;
  }
  machine.n_nodes = static_cast<std::uint16_t>(number.count());
  for (unsigned a = 0; a < kMaxNodes; ++a) {
    bool used = a < machine.n_nodes;
    machine.os_node[a] = used ? before.os_node[old_index[a]] : std::uint16_t{0};
    for (unsigned b = 0; b < kMaxNodes; ++b) {
      machine.distance[a][b] = used && b < machine.n_nodes
                                   ? before.distance[old_index[a]][old_index[b]]
                                   : std::uint8_t{0};
    }
  }
}

// The first core that shares socket and node stands for a cache nobody described. No described
// cache can have its number: groups are named by one of their members.
void assume_caches(Machine& machine) {
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    Core& core = machine.cores[i];
    if (core.llc != kUnknownGroup) continue;
    for (unsigned j = i; j < machine.n_cores; ++j) {
      Core& other = machine.cores[j];
      bool same = other.socket == core.socket && other.numa_node == core.numa_node;
      if (same && other.llc == kUnknownGroup) other.llc = core.os_cpu;
    }
  }
}

}  // namespace

void machine_arrange(Machine& machine) {
  std::sort(machine.cores, machine.cores + machine.n_cores, [](const Core& a, const Core& b) {
    return a.numa_node != b.numa_node ? a.numa_node < b.numa_node : a.os_cpu < b.os_cpu;
  });
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    Core& core = machine.cores[i];
    core.numa_node = std::min<std::uint16_t>(core.numa_node, kMaxNodes - 1);
    if (core.socket == kUnknownGroup) core.socket = 0;
    if (core.smt_sibling_group == kUnknownGroup) core.smt_sibling_group = core.os_cpu;
  }
  assume_caches(machine);
  number_nodes(machine);
  number_densely(machine, &Core::socket);
  number_densely(machine, &Core::llc);
  number_densely(machine, &Core::smt_sibling_group);
}

void machine_keep(Machine& machine, const CpuSet& keep) {
  unsigned kept = 0;
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    if (keep.test(machine.cores[i].os_cpu)) machine.cores[kept++] = machine.cores[i];
  }
  std::fill(machine.cores + kept, machine.cores + machine.n_cores, Core{});
  machine.n_cores = static_cast<std::uint16_t>(kept);
  machine_arrange(machine);
}

void machine_flat_distances(Machine& machine, unsigned n_nodes) {
  for (unsigned a = 0; a < n_nodes; ++a) {
    for (unsigned b = 0; b < n_nodes; ++b) {
      machine.distance[a][b] = a == b ? kLocalDistance : kRemoteDistance;
    }
  }
}

CpuSet machine_cpus(const Machine& machine) {
  CpuSet cpus;
  for (unsigned i = 0; i < machine.n_cores; ++i) cpus.set(machine.cores[i].os_cpu);
  return cpus;
}

}  // namespace roost
