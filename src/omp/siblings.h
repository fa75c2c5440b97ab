// Turns for the siblings of a member that waits in a call of its own accord, where Roost does not
// see to it.
#pragma once

#include "base/types.h"
#include "ult/carrier.h"

namespace roost::omp {

// The calling carrier, if its strand is in a region with light members; else null.
inline ult::Carrier* carrier_inside() {
  ult::Carrier* own = ult::here.carrier;
  return own && own->current->inside ? own : nullptr;
}

// A call by which members poll, which takes so long. True once members of the region have made
// several, or waited for long: siblings had better run then. Before, the member may just pause, and
// hold a lock that libc binds to the thread, so that a sibling would find it its own.
inline bool polls(ult::Carrier& own, Nanoseconds waits = 0) {
  constexpr Nanoseconds kEnough = 5'000'000, kOneCall = 300'000;
  std::atomic<Nanoseconds>& polled = own.current->inside->polled;
  if (polled.load(std::memory_order_relaxed) >= kEnough) return true;
  polled.fetch_add(waits > kOneCall ? waits : kOneCall, std::memory_order_relaxed);
  return false;
}

}  // namespace roost::omp
