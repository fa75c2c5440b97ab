// The table of passive wait settings.
#include "cli/wait_policies.h"

namespace roost::cli {
namespace {

struct PassiveWait {
  const char* name;
  const char* value;
  const char* governed_by;  // if the user has set this one it speaks for `name` too; or null
};

constexpr PassiveWait kPassiveWaits[] = {
    // OpenMP: the standard's variable, and what it means to libomp and libgomp, to be sure.
    {"OMP_WAIT_POLICY", "passive", nullptr},
    {"KMP_BLOCKTIME", "0", "OMP_WAIT_POLICY"},
    {"GOMP_SPINCOUNT", "0", "OMP_WAIT_POLICY"},
    // OpenBLAS: idle threads yield for 2^16 ticks (about 25 us), then sleep. Between the tiles of
    // one caller they need not sleep; measured best of 2^4 to 2^28 at 8x8 and 28x28 threads.
    {"OPENBLAS_THREAD_TIMEOUT", "16", nullptr},
    // MPI libraries poll for messages; these make them yield in between.
    {"OMPI_MCA_mpi_yield_when_idle", "1", nullptr},  // Open MPI
    {"MPIR_CVAR_POLLS_BEFORE_YIELD", "1", nullptr},  // MPICH and MVAPICH2 over nemesis
    {"I_MPI_WAIT_MODE", "1", nullptr},               // Intel MPI: more ranks than cores
    {"I_MPI_THREAD_YIELD", "2", "I_MPI_WAIT_MODE"},  // by sched_yield
};

constexpr const char* kNamesOfOurs = "ROOST_WAIT_SET";

}  // namespace

Assignments passive_waits(const Lookup& lookup) {
  Assignments changes;
  const char* before = lookup(kNamesOfOurs);
  std::string ours = before ? before : "";
  for (const PassiveWait& wait : kPassiveWaits) {
    bool said = lookup(wait.name) || (wait.governed_by && lookup(wait.governed_by));
    if (said) continue;
    changes.push_back({wait.name, wait.value});
    ours += (ours.empty() ? "" : ",") + std::string(wait.name);
  }
  if (!ours.empty()) changes.push_back({kNamesOfOurs, ours});
  return changes;
}

}  // namespace roost::cli
