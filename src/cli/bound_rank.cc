// Looks for the launcher among the processes around this one.
#include "cli/bound_rank.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/number.h"
#include "cli/own_cores.h"
#include "cli/settings.h"
#include "cli/split.h"
#include "os/sys.h"
#include "topo/affinity.h"
#include "topo/cpulist.h"

namespace roost::cli {
namespace {

// Slurm's in the tasks of steps. (SLURM_PROCID is in batch scripts, too, which are no ranks.)
constexpr const char* kSlurmStep = "SLURM_STEP_ID";
// What launchers set in each rank, and nowhere else.
constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "PMI_RANK", "PMIX_RANK", kSlurmStep};

const char* rank_variable(const Lookup& lookup) {
  for (const char* name : kRankVariables)
    if (lookup(name)) return name;
  return nullptr;
}

// srun's ranks have the variables of PMI or PMIx as well, which mpirun's have.
bool is_slurms(pid_t launcher) {
  char name[os::kProcessNameBytes];
  return launcher && os::process_start_time(launcher, &name) &&
         std::string_view(name) == "slurmstepd";
}

bool includes(const CpuSet& all, const CpuSet& some) { return some.without(all).count() == 0; }

bool set_own_affinity(const CpuSet& cpus) {
  return os::set_affinity(0, cpus.words, sizeof cpus.words) == 0;
}

// "0x0000ff00": a bit for each CPU, the lowest at the end.
CpuSet parse_mask(std::string_view text) {
  CpuSet cpus;
  if (text.starts_with("0x")) text.remove_prefix(2);
  for (unsigned i = 0; i < text.size(); ++i) {
    std::string digit(1, text[text.size() - 1 - i]);
    auto bits = static_cast<unsigned>(std::strtoul(digit.c_str(), nullptr, 16));
    for (unsigned bit = 0; bit < 4; ++bit)
      if (bits >> bit & 1) cpus.set(4 * i + bit);
  }
  return cpus;
}

// What Slurm has bound the tasks of this step on this node to, in their order; empty if it says
// nothing of CPUs.
std::vector<CpuSet> slurm_bindings(const Lookup& lookup) {
  const char* type = lookup("SLURM_CPU_BIND_TYPE");
  const char* list = lookup("SLURM_CPU_BIND_LIST");
  std::vector<CpuSet> bindings;
  if (!type || !list || std::string(type) != "mask_cpu:") return bindings;
  for (const std::string& mask : split(list, ',')) bindings.push_back(parse_mask(mask));
  return bindings;
}

// Of a task, all cores of its step on this node: what all of its tasks have been bound to. None if
// the user has bound this process otherwise.
CpuSet cores_of_slurm_tasks(const std::vector<CpuSet>& bindings, const CpuSet& own,
                            const Lookup& lookup) {
  const char* text = lookup("SLURM_LOCALID");
  auto task = parse_number<unsigned>(text ? text : "");
  if (task && bindings[*task % bindings.size()] != own) return {};
  CpuSet all;
  for (const CpuSet& binding : bindings) all |= binding;
  return all;
}

// Slurm's daemon is not confined to the job: what the kernel lets us have is the job's, if it is no
// more than Slurm has given.
CpuSet cores_of_slurm_job(const CpuSet& own, const Lookup& lookup) {
  std::vector<CpuSet> bindings = slurm_bindings(lookup);
  if (!bindings.empty()) return cores_of_slurm_tasks(bindings, own, lookup);
  const char* text = lookup("SLURM_CPUS_ON_NODE");
  auto given = parse_number<unsigned>(text ? text : "");
  CpuSet all, found = own;
  for (unsigned cpu = 0; cpu < kMaxCores; ++cpu) all.set(cpu);
  if (given && set_own_affinity(all)) {
    affinity_of(0, found);
    set_own_affinity(own);
  }
  return given && found.count() <= *given ? found : own;
}

}  // namespace

std::optional<BoundRank> find_bound_rank(const Lookup& lookup) {
  const char* variable = rank_variable(lookup);
  if (!variable || outer_instance(lookup)) return std::nullopt;
  bool by_slurm = variable == kSlurmStep;
  pid_t launcher = by_slurm ? 0 : os::ancestor_without(os::getpid(), variable);
  BoundRank rank{own_mask(), {}};
  if (by_slurm || is_slurms(launcher)) {
    rank.job = cores_of_slurm_job(rank.own, lookup);
  } else if (launcher) {
    affinity_of(launcher, rank.job);
  }
  if (!includes(rank.job, rank.own) || rank.job == rank.own) return std::nullopt;
  return rank;
}

void share_cores_of_job(const BoundRank& rank) {
  if (!set_own_affinity(rank.job)) return;
  setenv("ROOST_AFFINITY", format_cpulist(rank.own).c_str(), 1);
}

}  // namespace roost::cli
