// Looks for the launcher among the processes around this one.
#include "cli/bound_rank.h"

#include <cstdlib>
#include <string>

#include "cli/number.h"
#include "cli/own_cores.h"
#include "os/sys.h"
#include "topo/affinity.h"
#include "topo/cpulist.h"

namespace roost::cli {
namespace {

// What launchers set in each rank, and nowhere else.
constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};

const char* rank_variable(const Lookup& lookup) {
  for (const char* name : kRankVariables)
    if (lookup(name)) return name;
  return nullptr;
}

bool includes(const CpuSet& all, const CpuSet& some) { return some.without(all).count() == 0; }

bool set_own_affinity(const CpuSet& cpus) {
  return os::set_affinity(0, cpus.words, sizeof cpus.words) == 0;
}

// Slurm's daemon is not confined to the job: what the kernel lets us have is the job's, if it is no
// more than Slurm has given.
CpuSet cores_of_slurm_job(const CpuSet& own, const Lookup& lookup) {
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
  if (!variable || lookup("ROOST_INSTANCE")) return std::nullopt;
  BoundRank rank{own_mask(), {}};
  if (std::string(variable) == "SLURM_PROCID") {
    rank.job = cores_of_slurm_job(rank.own, lookup);
  } else if (pid_t launcher = os::ancestor_without(os::getpid(), variable)) {
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
