// sched_yield for members that share an OS thread, where Roost does not see to it: one that spins
// with it for a sibling, as OpenBLAS's threads do, would wait until the kernel's patience ends.
#include <cerrno>

#include "omp/api.h"
#include "omp/export.h"
#include "ult/carrier.h"
#include "ult/kernel.h"

namespace roost::omp {

ROOST_EXPORT int sched_yield() {
  constexpr std::uint32_t kKernelEvery = 32;  // siblings that all spin keep the core no longer
  ult::Carrier* own = ult::here.carrier;
  bool inside = own && own->current->inside;
  if (inside && ++own->yields % kKernelEvery && ult::light_event(ROOST_LIGHT_SPINS)) return 0;
  return static_cast<int>(syscall(SYS_sched_yield));
}

}  // namespace roost::omp
