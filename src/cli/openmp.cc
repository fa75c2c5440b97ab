// Decides about the OpenMP runtime.
#include "cli/openmp.h"

#include <strings.h>

namespace roost::cli {

bool wants_own_openmp(const std::optional<std::string>& mode, const Lookup& lookup) {
  if (mode == "host") return false;
  if (mode == "roost") return true;
  const char* offload = lookup("OMP_TARGET_OFFLOAD");
  return !(offload && strcasecmp(offload, "mandatory") == 0);
}

}  // namespace roost::cli
