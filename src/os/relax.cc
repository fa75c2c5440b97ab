// The spin of Roost's own short locks.
#include "base/world.h"
#include "os/sys.h"

namespace roost {

// A thread of a real-time class that yields is the next one again, and would keep the lock's holder
// from the CPU for good: so in the end it sleeps. Not before the kernel has had time (some 5 ms) to
// run a holder whose CPU others have taken: who sleeps with a core in hand loses it to the
// watchdog.
void RealWorld::relax(unsigned spins) {
  constexpr unsigned kPauses = 200, kYields = 20'000;
  constexpr Nanoseconds kNap = 50'000;
  cpu_pause();
  if (spins > kPauses + kYields) return os::sleep_for(kNap);
  if (spins > kPauses) os::yield();
}

}  // namespace roost
