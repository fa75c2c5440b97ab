// The spin of Roost's own short locks.
#include "base/world.h"
#include "os/sys.h"

namespace roost {

void RealWorld::relax(unsigned spins) {
  cpu_pause();
  if (spins > 200) os::yield();
}

}  // namespace roost
