// Worksharing constructs in flight: the state a team shares about a loop, and what each member
// keeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/types.h"
#include "omp/icv.h"
#include "ult/carrier.h"

namespace roost::omp {

// A member's own part of the loop it is in.
struct LoopState {
  std::uint64_t next = 0;
};

// Constructs a fast member may be ahead of the slowest (nowait).
inline constexpr unsigned kWorkshares = 8;

// Shared state of one construct. Members enter constructs in the same order, so the n-th they enter
// uses slot n modulo kWorkshares.
struct alignas(kCoreStride) Workshare {
  std::atomic<std::uint32_t> owner{
      0};  // which construct, counted from 1, may use it: set when left
};

struct Workshares {
  Workshare slots[kWorkshares];
  ult::WaitList room;  // members that wait for a slot
};

}  // namespace roost::omp
