// Doctor's look at the machine's cores and which of them Roost may use.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "cli/checkup.h"
#include "cli/own_cores.h"
#include "topo/cpulist.h"
#include "topo/hwloc_host.h"
#include "topo/quota.h"
#include "topo/sysfs.h"

namespace roost::cli {
namespace {

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::size_t groups(const Machine& machine, std::uint16_t Core::*field) {
  std::set<std::uint16_t> numbers;
  for (unsigned i = 0; i < machine.n_cores; ++i) numbers.insert(machine.cores[i].*field);
  return numbers.size();
}

std::string describe(const Machine& machine) {
  return fmt::format("{}: {}, {}, {}, {}", plural(machine.n_cores, "CPU"),
                     plural(groups(machine, &Core::smt_sibling_group), "physical core"),
                     plural(groups(machine, &Core::llc), "last-level cache"),
                     plural(groups(machine, &Core::socket), "socket"),
                     plural(machine.n_nodes, "NUMA node"));
}

Finding examine_topology(const CpuSet& mask) {
  Machine ours, theirs;
  if (machine_from_sysfs("", mask, ours) != 0) {
    return {Level::fail, "topology", "no usable CPU has a number below 1024",
            "Roost cannot describe this machine"};
  }
  if (machine_from_hwloc(mask, theirs) != 0) {
    return {Level::warn, "topology", describe(ours),
            "hwloc cannot read this machine, so nothing confirms it"};
  }
  if (!(ours == theirs)) {
    return {Level::warn, "topology",
            fmt::format("{}; hwloc sees {}", describe(ours), describe(theirs)),
            "placement may be poor; please report this with the output of lstopo"};
  }
  return {Level::ok, "topology", describe(ours), ""};
}

Finding examine_affinity(const CpuSet& mask) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  std::string text = fmt::format("{} of {} online: {}", plural(mask.count(), "CPU"), online,
                                 brief_cpulist(mask).c_str());
  return {Level::ok, "affinity", text, ""};
}

Finding examine_quota(const CpuSet& mask) {
  unsigned quota = cpu_quota("");
  if (quota == 0) return {Level::ok, "CPU quota", "none", ""};
  std::string text = fmt::format("{} by the control group", plural(quota, "core"));
  if (quota >= mask.count()) return {Level::ok, "CPU quota", text, ""};
  return {Level::ok, "CPU quota",
          fmt::format("{}; an instance takes that many of the {} CPUs", text, mask.count()), ""};
}

Finding examine_new_instance() {
  Machine machine = machine_for({});
  return {Level::ok, "instance",
          fmt::format("a new one here would have {}: {}", plural(machine.n_cores, "core"),
                      brief_cpulist(machine_cpus(machine)).c_str()),
          ""};
}

}  // namespace

std::vector<Finding> examine_cores() {
  CpuSet mask = own_mask();
  std::vector<Finding> findings{examine_topology(mask), examine_affinity(mask),
                                examine_quota(mask)};
  if (findings[0].level != Level::fail) findings.push_back(examine_new_instance());
  return findings;
}

}  // namespace roost::cli
