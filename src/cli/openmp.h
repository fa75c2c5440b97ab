// Which OpenMP runtime a command is to use.
#pragma once

#include <optional>
#include <string>

#include "cli/lookup.h"

namespace roost::cli {

// Whether Roost's own OpenMP runtime is to be preloaded. `mode`: --omp, or none for the default,
// auto: it is, unless the environment asks for what only another runtime has: devices
// (OMP_TARGET_OFFLOAD=MANDATORY).
bool wants_own_openmp(const std::optional<std::string>& mode, const Lookup&);

}  // namespace roost::cli
