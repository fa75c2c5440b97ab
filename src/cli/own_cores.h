// The cores this user's instance would get here.
#pragma once

#include "topo/select.h"

namespace roost::cli {

// The affinity mask that programs are told, which in an instance is that of its cores.
CpuSet own_mask();

// The machine of a new instance; ends the command with kWrongUsage if the request cannot be met.
Machine machine_for(const CoreRequest&);

}  // namespace roost::cli
