// LLVM's entry points: reductions of a team.
//
// The caller is told what to do with its private copies: 1, to combine them with the variables
// itself, alone; 2, to do so by atomic operations; 0, nothing. Three ways:
//   atomic    few variables for which the compiler has atomic code: one operation each
//   critical  under the construct's lock: nobody has to wait for others to arrive, which matters
//             where members are light threads and one has to end before the next begins
//   tree      large teams with a barrier behind the reduction: members arrive at nodes of kFanIn,
//             the last one at a node combines what the others brought and goes on to the node
//             above. The others wait in the barrier, so their copies are there to be read.
#include <cstddef>

#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/lock_events.h"
#include "omp/team.h"

namespace roost::omp {
namespace {

using Combine = void (*)(void* into, void* from);

constexpr std::int32_t kMayBeAtomic = 0x10;  // Ident::flags: the caller has code for 2
constexpr std::int32_t kMostAtomic = 2;      // variables: with more, the lock is cheaper
constexpr std::uint32_t kTreeFrom = 9;       // members: below, a lock is passed on as fast

// True for the member that has all combined in `data`.
bool combine_up(Member& member, void* data, Combine combine) {
  Member* members = member.team->members;
  std::uint32_t count = member.team->size;  // nodes or members of the level
  std::uint32_t number = member.number;
  std::uint32_t distance = 1;  // between the first members of neighbours
  member.reduction.data = data;
  for (unsigned level = 0; level < ReductionState::kLevels; ++level) {
    std::uint32_t width = (count + kFanIn - 1) / kFanIn;
    std::uint32_t node = number / kFanIn;
    std::uint32_t children = node + 1 < width ? kFanIn : count - node * kFanIn;
    Member* first = &members[static_cast<std::size_t>(node) * kFanIn * distance];
    std::atomic<std::uint32_t>& arrived = first->reduction.arrived[level];
    ult::happens_before(&arrived);
    // [reduce-1] What the children brought is visible to the last one.
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != children) return false;
    ult::happens_after(&arrived);
    arrived.store(0, std::memory_order_relaxed);  // nobody comes again before the barrier
    for (std::uint32_t child = 0; child < children; ++child) {
      void* brought = first[static_cast<std::size_t>(child) * distance].reduction.data;
      if (brought != data) combine(data, brought);
    }
    first->reduction.data = data;
    if (width == 1) return true;
    count = width;
    number = node;
    distance *= kFanIn;
  }
  return true;
}

ReductionMethod choose(const Team& team, const Ident* where, std::int32_t variables,
                       Combine combine, bool barrier_behind) {
  if (team.size == 1) return ReductionMethod::none;
  bool atomic = where && (where->flags & kMayBeAtomic);
  if (atomic && variables <= kMostAtomic) return ReductionMethod::atomic;
  if (barrier_behind && combine && team.size >= kTreeFrom) return ReductionMethod::tree;
  return ReductionMethod::critical;
}

}  // namespace

extern "C" {

ROOST_EXPORT std::int32_t __kmpc_reduce_nowait(Ident* where, std::int32_t, std::int32_t variables,
                                               std::size_t, void*, Combine combine, void* words) {
  ompt::Entry entry;
  Member& member = self();
  ReductionMethod method = choose(*member.team, where, variables, combine, false);
  member.reduction.method = method;
  ompt::reduction(member, ompt::Endpoint::begin);
  if (method == ReductionMethod::atomic) {
    ompt::reduction(member, ompt::Endpoint::end);  // clang calls nothing behind it
    return 2;
  }
  if (method == ReductionMethod::critical) static_cast<Lock*>(words)->acquire();
  return 1;
}
ROOST_EXPORT void __kmpc_end_reduce_nowait(Ident*, std::int32_t, void* words) {
  ompt::Entry entry;
  Member& member = self();
  if (member.reduction.method == ReductionMethod::critical) static_cast<Lock*>(words)->release();
  ompt::reduction(member, ompt::Endpoint::end);
}

ROOST_EXPORT std::int32_t __kmpc_reduce(Ident* where, std::int32_t, std::int32_t variables,
                                        std::size_t, void* data, Combine combine, void* words) {
  ompt::Entry entry;
  Member& member = self();
  ReductionMethod method = choose(*member.team, where, variables, combine, true);
  member.reduction.method = method;
  ompt::reduction(member, ompt::Endpoint::begin);
  switch (method) {
    case ReductionMethod::none:
      return 1;
    case ReductionMethod::atomic:
      return 2;
    case ReductionMethod::critical:
      static_cast<Lock*>(words)->acquire();
      return 1;
    case ReductionMethod::tree:
      break;
  }
  if (combine_up(member, data, combine)) return 1;
  ompt::reduction(member, ompt::Endpoint::end);
  team_barrier(member, ompt::Sync::barrier_implicit_workshare);
  return 0;
}
// After 1 and 2.
ROOST_EXPORT void __kmpc_end_reduce(Ident*, std::int32_t, void* words) {
  ompt::Entry entry;
  Member& member = self();
  if (member.reduction.method == ReductionMethod::critical) static_cast<Lock*>(words)->release();
  ompt::reduction(member, ompt::Endpoint::end);
  team_barrier(member, ompt::Sync::barrier_implicit_workshare);
}

}  // extern "C"
}  // namespace roost::omp
