// Reads CPUs, caches and NUMA nodes from sysfs.
//
// Each file that lists who shares something (a cache, a core, a package) is read for one member
// only and speaks for all of them.
#include "topo/sysfs.h"

#include <algorithm>
#include <cerrno>

#include "os/file.h"
#include "topo/cpulist.h"

namespace roost {
namespace {

class Sysfs {
 public:
  explicit Sysfs(const char* root) : root_(root) {}

  // <root>/sys/devices/system/<kind><number>/<file>, as in ("cpu/cpu", 3, "topology/core_id").
  PathText path(const char* kind, unsigned number, const char* file) const {
    PathText text(root_);
    text << "/sys/devices/system/" << kind << number << '/' << file;
    return text;
  }

  // False if there is no such file or no list in it.
  bool read_list(const PathText& path, CpuSet& cpus) const {
    ErrorText error;
    char raw[4096];
    return os::read_text(path.c_str(), raw, sizeof raw) > 0 && parse_cpulist(raw, cpus, error) == 0;
  }

  PathText online_nodes() const {
    PathText text(root_);
    text << "/sys/devices/system/node/online";
    return text;
  }

 private:
  const char* root_;
};

int small_number(const PathText& path) {
  char text[32];
  if (os::read_text(path.c_str(), text, sizeof text) <= 0 || text[0] < '0' || text[0] > '9')
    return -1;
  int value = 0;
  for (const char* c = text; *c >= '0' && *c <= '9' && value < 10000; ++c)
    value = value * 10 + *c - '0';
  return value;
}

// The file that lists the sharers of the highest cache level of a CPU; false if there are no
// caches.
bool find_last_level_cache(const Sysfs& sysfs, unsigned cpu, PathText& list) {
  int highest = 0;
  for (unsigned index = 0; index < 16; ++index) {
    Text<64> file("cache/index");
    file << index << "/level";
    int level = small_number(sysfs.path("cpu/cpu", cpu, file.c_str()));
    if (level < 0) break;
    if (level <= highest) continue;
    highest = level;
    file.shorten(file.length() - 5);
    file << "shared_cpu_list";
    list = sysfs.path("cpu/cpu", cpu, file.c_str());
  }
  return highest > 0;
}

// Fills one group field of all cores; `list_of(cpu, path)` names the file that lists who shares.
template <class ListOf>
void read_groups(const Sysfs& sysfs, Machine& machine, std::uint16_t Core::*field,
                 ListOf&& list_of) {
  CpuSet done;
  for (unsigned i = 0; i < machine.n_cores; ++i) {
    unsigned cpu = machine.cores[i].os_cpu;
    if (done.test(cpu)) continue;
    PathText path;
    CpuSet sharers;
    if (!list_of(cpu, path) || !sysfs.read_list(path, sharers) || !sharers.test(cpu)) continue;
    for (unsigned j = i; j < machine.n_cores; ++j) {
      Core& core = machine.cores[j];
      if (!sharers.test(core.os_cpu) || done.test(core.os_cpu)) continue;
      core.*field = static_cast<std::uint16_t>(sharers.first());
      done.set(core.os_cpu);
    }
  }
}

// A node's row of distances has one number for each online node, in ascending order.
void read_distances(const Sysfs& sysfs, Machine& machine, unsigned node, const CpuSet& online) {
  char text[8192];
  PathText path = sysfs.path("node/node", machine.os_node[node], "distance");
  if (os::read_text(path.c_str(), text, sizeof text) <= 0) return;
  const char* at = text;
  for (unsigned other = online.first(); other < kMaxCores; other = online.next(other)) {
    while (*at == ' ') ++at;
    if (*at < '0' || *at > '9') return;
    unsigned value = 0;
    for (; *at >= '0' && *at <= '9'; ++at) value = std::min(value * 10 + unsigned(*at - '0'), 255u);
    for (unsigned i = 0; i < machine.n_nodes; ++i) {
      if (machine.os_node[i] == other) machine.distance[node][i] = static_cast<std::uint8_t>(value);
    }
  }
}

// Nodes with some of the cores, in ascending order of the kernel's numbers. What is beyond
// kMaxNodes counts as part of the last.
void read_nodes(const Sysfs& sysfs, Machine& machine) {
  CpuSet online;  // of node numbers here
  if (!sysfs.read_list(sysfs.online_nodes(), online)) online.set(0);
  machine.n_nodes = 0;
  for (unsigned number = online.first(); number < kMaxCores; number = online.next(number)) {
    CpuSet members;
    if (!sysfs.read_list(sysfs.path("node/node", number, "cpulist"), members)) continue;
    unsigned node = std::min<unsigned>(machine.n_nodes, kMaxNodes - 1);
    bool used = false;
    for (unsigned i = 0; i < machine.n_cores; ++i) {
      if (!members.test(machine.cores[i].os_cpu)) continue;
      machine.cores[i].numa_node = static_cast<std::uint16_t>(node);
      used = true;
    }
    if (!used || machine.n_nodes == kMaxNodes) continue;
    machine.os_node[node] = static_cast<std::uint16_t>(number);
    ++machine.n_nodes;
  }
  machine.n_nodes = std::max<std::uint16_t>(machine.n_nodes, 1);
  machine_flat_distances(machine, machine.n_nodes);
  for (unsigned node = 0; node < machine.n_nodes; ++node)
    read_distances(sysfs, machine, node, online);
}

}  // namespace

int machine_from_sysfs(const char* root, const CpuSet& cpus, Machine& machine) {
  machine = Machine{};
  for (unsigned cpu = cpus.first(); cpu < kMaxCores; cpu = cpus.next(cpu)) {
    machine.cores[machine.n_cores++] = {static_cast<std::uint16_t>(cpu), 0, kUnknownGroup,
                                        kUnknownGroup, kUnknownGroup};
  }
  if (machine.n_cores == 0) return -EINVAL;
  Sysfs sysfs(root);
  auto cpu_file = [&sysfs](const char* file) {
    return [&sysfs, file](unsigned cpu, PathText& path) {
      path = sysfs.path("cpu/cpu", cpu, file);
      return true;
    };
  };
  read_groups(sysfs, machine, &Core::socket, cpu_file("topology/core_siblings_list"));
  read_groups(sysfs, machine, &Core::smt_sibling_group, cpu_file("topology/thread_siblings_list"));
  read_groups(sysfs, machine, &Core::llc, [&sysfs](unsigned cpu, PathText& path) {
    return find_last_level_cache(sysfs, cpu, path);
  });
  read_nodes(sysfs, machine);
  machine_arrange(machine);
  return 0;
}

}  // namespace roost
