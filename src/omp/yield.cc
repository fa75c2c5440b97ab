// sched_yield for members that share an OS thread, where Roost does not see to it: one that spins
// with it for a sibling, as OpenBLAS's threads do, would wait until the kernel's patience ends.
#include "omp/export.h"
#include "omp/siblings.h"
#include "ult/kernel.h"

extern "C" ROOST_EXPORT int sched_yield() {
  using namespace roost;
  ult::Carrier* own = omp::carrier_inside();
  constexpr std::uint32_t kKernelEvery = 32;  // siblings that all yield keep the core no longer
  bool siblings = own && omp::polls(*own) && ++own->yields % kKernelEvery;
  if (siblings && ult::light_event(ROOST_LIGHT_SPINS)) return 0;
  return static_cast<int>(syscall(SYS_sched_yield));
}
