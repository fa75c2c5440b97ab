// A team's barrier: arrivals are counted up a tree, the release is one word that all read.
//
// Members arrive at nodes of kFanIn; the last one at a node goes on to the node above, so no line
// is written by more than kFanIn members (two cache misses at 64 cores, three at 192 and up). The
// last one at the root finishes the team's tasks, then raises the epoch. Members poll it, or wait
// in a list of their core's (omp/team.cc). ult/PROTOCOL.md argues it, models/light_threads.cc
// checks it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/types.h"
#include "base/world.h"
#include "omp/gates.h"
#include "ult/carrier.h"

namespace roost::omp {

inline constexpr unsigned kFanIn = 8;

template <class W>
struct alignas(kCoreStride) ArrivalNode {
  typename W::template atomic<std::uint32_t> count{0};
};

// Nodes of a tree for so many members.
inline constexpr unsigned arrival_nodes(unsigned members) {
  unsigned nodes = 0;
  do {
    members = (members + kFanIn - 1) / kFanIn;
    nodes += members;
  } while (members > 1);
  return nodes;
}

// `nodes`: level by level, leaves first. True for the last of `members` to arrive; the counts are
// zero again then. The model has a smaller fan-in.
template <class W, unsigned kFanIn = omp::kFanIn>
bool arrive(ArrivalNode<W>* nodes, unsigned members, unsigned number) {
  for (;;) {
    unsigned width = (members + kFanIn - 1) / kFanIn;
    unsigned node = number / kFanIn;
    unsigned children = node + 1 < width ? kFanIn : members - node * kFanIn;
    // [barrier-1] what each member did before is visible to the last one, and by [barrier-2] to
    // all.
    if (nodes[node].count.fetch_add(1, std::memory_order_acq_rel) + 1 != children) return false;
    // Nobody arrives here again before the release.
    nodes[node].count.store(0, std::memory_order_relaxed);
    if (width == 1) return true;
    nodes += width;
    members = width;
    number = node;
  }
}

struct Barrier {
  ArrivalNode<RealWorld>* nodes = nullptr;
  std::atomic<std::uint32_t> epoch{0};
  Gates<RealWorld, ult::WaitList> gates;
  // The epoch that the master has left the barrier with; a hint.
  std::atomic<std::uint32_t> left_by_master{0};
};

}  // namespace roost::omp
