// What GCC's loop entry points share: its ABI's numbers, and chunks as it wants them.
#pragma once

#include "omp/export.h"
#include "omp/loop.h"

namespace roost::omp {

using Ull = unsigned long long;

// Schedules as GCC passes them to GOMP_loop_start. Bit 31: monotonic, which all of ours are.
inline constexpr long kGompRuntime = 0;
inline constexpr long kGompStatic = 1;
inline constexpr long kGompDynamic = 2;
inline constexpr long kGompGuided = 3;
inline constexpr long kGompAuto = 4;  // schedule(nonmonotonic: runtime)
inline constexpr long kGompMonotonic = 0x8000'0000;

inline void set_gomp_schedule(LoopPlan& plan, long schedule, std::uint64_t chunk) {
  plan.chunk = chunk;
  switch (schedule & ~kGompMonotonic) {
    case kGompStatic:
      plan.schedule = Schedule::static_;
      break;
    case kGompDynamic:
      plan.schedule = Schedule::dynamic;
      break;
    case kGompGuided:
      plan.schedule = Schedule::guided;
      break;
    default:
      plan.runtime = true;
      break;
  }
}

inline LoopPlan gomp_plan(long start, long end, long step, long schedule, long chunk) {
  LoopPlan plan;
  plan.first = static_cast<std::uint64_t>(start);
  plan.end = static_cast<std::uint64_t>(end);
  plan.step = static_cast<std::uint64_t>(step);
  plan.trip = trip_count(start, end, step > 0, plan.step);
  set_gomp_schedule(plan, schedule, chunk > 0 ? static_cast<std::uint64_t>(chunk) : 0);
  return plan;
}

inline LoopPlan gomp_plan_ull(bool up, Ull start, Ull end, Ull step, long schedule, Ull chunk) {
  LoopPlan plan;
  plan.first = start;
  plan.end = end;
  plan.step = step;
  plan.trip = trip_count(start, end, up, step);
  set_gomp_schedule(plan, schedule, chunk);
  return plan;
}

// The chunk's bounds as values of the variable; `high` is excluded, and never beyond what the
// program said.
template <class T>
bool give_chunk(Member& member, T* low, T* high) {
  const LoopState& loop = member.loop;
  ompt::chunk(member, member.loop.low, member.loop.high);
  // Both are of 64 bits. NOLINTBEGIN(bugprone-misplaced-widening-cast)
  *low = static_cast<T>(loop.first + loop.low * loop.step);
  *high = static_cast<T>(loop.high == loop.trip ? loop.end : loop.first + loop.high * loop.step);
  // NOLINTEND(bugprone-misplaced-widening-cast)
  return true;
}

template <class T>
bool next_gomp(T* low, T* high) {
  Member& member = self();
  return next_chunk(member) && give_chunk(member, low, high);
}
template <class T>
bool next_gomp_ordered(T* low, T* high) {
  Member& member = self();
  return next_ordered_chunk(member) && give_chunk(member, low, high);
}
template <class T>
bool begin_gomp(const LoopPlan& plan, T* low, T* high) {
  Member& member = self();
  begin_loop(member, plan);
  return next_chunk(member) && give_chunk(member, low, high);
}
template <class T>
bool begin_gomp_ordered(LoopPlan plan, T* low, T* high) {
  Member& member = self();
  plan.ordered = true;
  begin_loop(member, plan);
  return next_ordered_chunk(member) && give_chunk(member, low, high);
}

// What the constructs of gcc 9 and later may have besides: task reductions, and memory that the
// members share, zero at first. *memory is its size, and then its address. The construct has begun
// with plan.shares.
void begin_shared(Member& member, std::uintptr_t* reductions, void** memory);

// A region that is the loop `plan`, up to the end of the opener's part.
Team& begin_parallel_loop(void (*function)(void*), void* data, unsigned threads,
                          const LoopPlan& plan, unsigned flags);
inline void parallel_loop(void (*function)(void*), void* data, unsigned threads,
                          const LoopPlan& plan, unsigned flags) {
  begin_parallel_loop(function, data, threads, plan, flags);
  {
    ompt::UserCode code;
    function(data);
  }
  end_region();
}

}  // namespace roost::omp
