// Reads the variables by which launchers number their ranks on a node.
#include "preload/rank.h"

#include <stdlib.h>

#include <algorithm>

#include "os/sys.h"
#include "preload/config.h"

namespace roost {
namespace {

struct Launcher {
  const char* index;
  const char* count;
};
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},  // "4(x2),3": of the first node
};

std::uint16_t number(const char* text) {
  return static_cast<std::uint16_t>(std::min(strtoul(text, nullptr, 10), 0xfffful));
}

}  // namespace

Rank rank_in(char** environment) {
  for (const Launcher& launcher : kLaunchers) {
    const char* index = variable(environment, launcher.index);
    const char* count = variable(environment, launcher.count);
    if (!index || !count) continue;
    pid_t job = os::ancestor_without(os::getpid(), launcher.index);
    return job ? Rank{static_cast<std::uint32_t>(job), number(index), number(count)} : Rank{};
  }
  return {};
}

}  // namespace roost
