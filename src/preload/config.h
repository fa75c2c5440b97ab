// Reads what `roost run` left in the environment and works out the cores of a new instance.
#pragma once

#include "preload/blas.h"
#include "preload/nudge.h"
#include "preload/trap.h"
#include "sched/policy_file.h"
#include "segment/segment.h"

namespace roost {

enum class ConfigResult {
  unmanaged,  // not started by roost run
  refused,    // the policy is none, or a plug-in that cannot be used
  managed,
};

// The value of a variable; null if it is not set.
const char* variable(char** environment, const char* name);

// Whether `roost run` has started the process, or one above it.
bool started_by_roost(char** environment);

// `environment` is the vector handed to constructors: libc's own is not set up yet. Loads the
// policy if it is a plug-in; `why` says in a sentence why one is refused.
ConfigResult read_config(char** environment, SegmentConfig& config, PolicyFileError& why);
// How busy waits are treated (`--spin`).
SpinMode spin_mode_wanted(char** environment);
// What may be done to calls of a BLAS (`--blas`).
BlasMode blas_mode_wanted(char** environment);
// For tests: whether all calls of a BLAS are tried that could be made of fewer pieces.
bool blas_trials_wanted(char** environment);
bool stats_wanted(char** environment);
TrapMode trap_wanted(char** environment);
// What `roost run --trace` asks for; before the first thread joins.
void configure_trace(char** environment, const char* instance);

}  // namespace roost
