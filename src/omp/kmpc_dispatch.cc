// LLVM's entry points: loops whose chunks are asked for one by one (__kmpc_dispatch_*), and
// ordered.
#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/kmpc_schedule.h"
#include "omp/loop.h"

namespace roost::omp {
namespace {

void set_kmp_schedule(LoopPlan& plan, std::int32_t number, std::int64_t chunk) {
  KmpSchedule schedule = kmp_schedule(number);
  plan.ordered = schedule.ordered;
  auto least = chunk > 0 ? static_cast<std::uint64_t>(chunk) : 1;
  switch (schedule.kind) {
    case kKmpStaticChunked:
      plan.schedule = Schedule::static_;
      plan.chunk = least;
      break;
    case kKmpDynamic:
    case kKmpStaticSteal:
      plan.schedule = Schedule::dynamic;
      plan.chunk = least;
      break;
    case kKmpGuided:
    case kKmpGuidedIterative:
    case kKmpGuidedAnalytical:
    case kKmpGuidedSimd:
    case kKmpTrapezoidal:
    case kKmpAuto:  // as in libomp; also where members come and go with the cores
      plan.schedule = Schedule::guided;
      plan.chunk = least;
      break;
    case kKmpRuntimeSimd:
      plan.runtime = true;
      plan.unit = static_cast<std::uint32_t>(least);
      break;
    case kKmpRuntime:
      plan.runtime = true;
      break;
    // One block each, whatever `chunk` is.
    case kKmpStatic:
    case kKmpStaticGreedy:
    case kKmpStaticBalanced:
    case kKmpStaticBalancedChunked:
    default:
      plan.schedule = Schedule::static_;
      break;
  }
}

template <class T>
void dispatch_init(std::int32_t schedule, T lower, T upper, std::int64_t step, std::int64_t chunk) {
  LoopPlan plan;
  plan.first = static_cast<std::uint64_t>(lower);
  plan.end = static_cast<std::uint64_t>(upper);
  plan.step = static_cast<std::uint64_t>(step);
  plan.trip = trip_count_to(lower, upper, step > 0, plan.step);
  set_kmp_schedule(plan, schedule, chunk);
  begin_loop(self(), plan);
}

// Among the leagues first, a block each.
template <class T>
void dist_dispatch_init(std::int32_t schedule, std::int32_t* last, T lower, T upper,
                        std::int64_t step, std::int64_t chunk) {
  Team& team = *self().team;
  auto step64 = static_cast<std::uint64_t>(step);
  std::uint64_t trip = trip_count_to(lower, upper, step > 0, step64);
  Block block = block_of(trip, team.league_size, team.league);
  if (last) *last = block.high == trip && block.low < block.high;
  LoopPlan plan;
  plan.first = static_cast<std::uint64_t>(lower) + block.low * step64;
  plan.step = step64;
  plan.trip = block.high - block.low;
  set_kmp_schedule(plan, schedule, chunk);
  begin_loop(self(), plan);
}

// The next chunk, both ends included. 0: there is none, and the member has left the loop.
template <class T>
std::int32_t dispatch_next(std::int32_t* last, T* lower, T* upper, std::make_signed_t<T>* step) {
  Member& member = self();
  LoopState& loop = member.loop;
  bool found = loop.ordered ? next_ordered_chunk(member) : next_chunk(member);
  if (!found) {
    ompt::work_ends(member);
    return 0;  // *last still says whether the member's last chunk was the loop's
  }
  ompt::chunk(member, loop.low, loop.high);
  *lower = static_cast<T>(loop.first + loop.low * loop.step);
  *upper = static_cast<T>(loop.first + (loop.high - 1) * loop.step);
  if (step) *step = static_cast<std::make_signed_t<T>>(loop.step);
  if (last) *last = loop.high == loop.trip;
  return 1;
}

}  // namespace

extern "C" {

#define KMPC_DISPATCH(suffix, T, S)                                                               \
  ROOST_EXPORT void __kmpc_dispatch_init_##suffix(Ident*, std::int32_t, std::int32_t schedule,    \
                                                  T lower, T upper, S step, S chunk) {            \
    ompt::Entry entry;                                                                            \
    dispatch_init<T>(schedule, lower, upper, step, chunk);                                        \
  }                                                                                               \
  ROOST_EXPORT void __kmpc_dist_dispatch_init_##suffix(Ident*, std::int32_t,                      \
                                                       std::int32_t schedule, std::int32_t* last, \
                                                       T lower, T upper, S step, S chunk) {       \
    ompt::Entry entry;                                                                            \
    dist_dispatch_init<T>(schedule, last, lower, upper, step, chunk);                             \
  }                                                                                               \
  ROOST_EXPORT std::int32_t __kmpc_dispatch_next_##suffix(                                        \
      Ident*, std::int32_t, std::int32_t* last, T* lower, T* upper, S* step) {                    \
    ompt::Entry entry;                                                                            \
    return dispatch_next<T>(last, lower, upper, step);                                            \
  }                                                                                               \
  /* After each iteration of an ordered loop: the turn is passed on by chunks (omp/loop.h). */    \
  ROOST_EXPORT void __kmpc_dispatch_fini_##suffix(Ident*, std::int32_t) {}

KMPC_DISPATCH(4, std::int32_t, std::int32_t)
KMPC_DISPATCH(4u, std::uint32_t, std::int32_t)
KMPC_DISPATCH(8, std::int64_t, std::int64_t)
KMPC_DISPATCH(8u, std::uint64_t, std::int64_t)

// The member is through with the loop, also where it is cancelled (clang 19).
ROOST_EXPORT void __kmpc_dispatch_deinit(Ident*, std::int32_t) {
  ompt::Entry entry;
  end_loop(self());
}

ROOST_EXPORT void __kmpc_ordered(Ident*, std::int32_t) {
  ompt::Entry entry;
  begin_ordered(self());
}
ROOST_EXPORT void __kmpc_end_ordered(Ident*, std::int32_t) {
  ompt::Entry entry;
  end_ordered(self());
}

// Sections as a loop whose size comes with each request (libomp 17). Numbers from 0 on; `count`:
// none is left.
ROOST_EXPORT std::int32_t __kmpc_sections_init(Ident*, std::int32_t) {
  LoopPlan plan;
  plan.trip = 1;
  plan.chunk = 1;
  plan.schedule = Schedule::dynamic;
  plan.stepwise = true;
  plan.work = ompt::Work::sections;
  ompt::Entry entry;
  Member& member = self();
  begin_loop(member, plan);
  return member.team->size > 1;
}
ROOST_EXPORT std::int32_t __kmpc_next_section(Ident*, std::int32_t, std::int32_t count) {
  Member& member = self();
  LoopState& loop = member.loop;
  loop.trip = loop.chunks = static_cast<std::uint64_t>(count);
  return next_chunk(member) ? static_cast<std::int32_t>(loop.low) : count;
}
ROOST_EXPORT void __kmpc_end_sections(Ident*, std::int32_t) {
  ompt::Entry entry;
  end_loop(self());
}

}  // extern "C"
}  // namespace roost::omp
