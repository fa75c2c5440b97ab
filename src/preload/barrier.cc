// pthread_barrier_*: rounds counted in the object, waiters in the parking lot.
//
// The object's own fields `in` (arrivals of this round) and `current_round` are used under the
// bucket's lock, with a simpler meaning than glibc's: between rounds `in` is 0. Leaving threads do
// not touch the object again, so it may be destroyed as soon as the serial thread returns.
// Process-shared barriers use libc's own wait with the core given away.
#include <limits.h>

#include "preload/wait.h"

namespace roost {
namespace {

// glibc since 2.25 (sysdeps/nptl/internaltypes.h).
struct Barrier {
  unsigned in;
  unsigned current_round;
  unsigned count;
  int shared;
  unsigned out;
};
static_assert(sizeof(Barrier) <= sizeof(pthread_barrier_t));

Barrier& fields(pthread_barrier_t* barrier) { return *reinterpret_cast<Barrier*>(barrier); }

}  // namespace

ROOST_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  Barrier& b = fields(barrier);
  if (b.shared) return without_core_anywhere([&] { return real::pthread_barrier_wait(barrier); });
  LotHost host(nullptr);
  host.waits_for("barrier");
  LotBucketOf& bucket = bucket_of(barrier);
  LotWaiter waiter;
  waiter.key = barrier;
  unsigned round = 0;
  bool waits = begin_signal_wait<RealWorld>(bucket, waiter, host, [&] {
    round = b.current_round;
    if (++b.in < b.count) return true;
    b.in = 0;
    ++b.current_round;
    return false;
  });
  if (waits) {
    auto goes_on = [&] { return b.current_round == round; };
    for (;;) {
      WaitResult end = end_signal_wait<RealWorld>(bucket, waiter, host);
      if (end == WaitResult::woken) return 0;
      if (end == WaitResult::cancelled) act_on_cancel();
      if (!begin_signal_wait<RealWorld>(bucket, waiter, host, goes_on)) return 0;
    }
  }
  // Whoever comes for the next round cannot be in the queue yet unless all of this round have left.
  signal_waiters<RealWorld>(bucket, barrier, b.count - 1, host, [](LotWaiter&) { return true; });
  return PTHREAD_BARRIER_SERIAL_THREAD;
}

ROOST_EXPORT int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  if (fields(barrier).shared) return real::pthread_barrier_destroy(barrier);
  return 0;
}

}  // namespace roost
