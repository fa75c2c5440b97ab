// Copies of threadprivate variables that the runtime keeps (omp/threadprivate.cc).
#pragma once

#include <cstdint>

namespace roost::omp {

// The OpenMP thread of that gtid has ended: its copies are destroyed, and whoever gets the gtid
// next begins anew.
void forget_threadprivate(std::int32_t gtid);

}  // namespace roost::omp
