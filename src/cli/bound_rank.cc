// Looks for the launcher among the processes around this one.
#include "cli/bound_rank.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "cli/number.h"
#include "cli/own_cores.h"
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

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What it was executed with.
bool has_variable(pid_t pid, const std::string& name) {
  std::string environment = '\0' + read_file("/proc/" + std::to_string(pid) + "/environ");
  return environment.find('\0' + name + '=') != std::string::npos;
}

// 0: it cannot be told.
pid_t parent_of(pid_t pid) {
  std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(stat.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return rest ? parent : 0;
}

// The nearest process around this one that is in no rank.
pid_t find_launcher(const std::string& variable) {
  pid_t pid = getppid();
  while (pid > 1 && has_variable(pid, variable)) pid = parent_of(pid);
  return pid > 1 ? pid : 0;
}

bool includes(const CpuSet& all, const CpuSet& some) { return some.without(all).count() == 0; }

bool set_own_affinity(const CpuSet& cpus) {
  return sched_setaffinity(0, sizeof cpus.words, reinterpret_cast<const cpu_set_t*>(cpus.words)) ==
         0;
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
  } else if (pid_t launcher = find_launcher(variable)) {
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
