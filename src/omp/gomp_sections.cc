// GCC's entry points: sections, which are a dynamic loop over their numbers.
#include "omp/gomp_loop.h"

namespace roost::omp {
namespace {

LoopPlan sections_plan(unsigned count) {
  LoopPlan plan = gomp_plan(1, static_cast<long>(count) + 1, 1, kGompDynamic, 1);
  plan.stepwise = true;
  plan.work = ompt::Work::sections;
  return plan;
}

}  // namespace

extern "C" {

ROOST_EXPORT void GOMP_parallel_sections(void (*function)(void*), void* data, unsigned threads,
                                         unsigned count, unsigned flags) {
  ompt::Entry entry;
  parallel_loop(function, data, threads, sections_plan(count), flags);
}
ROOST_EXPORT void GOMP_parallel_sections_start(void (*function)(void*), void* data,
                                               unsigned threads, unsigned count) {
  ompt::Entry entry;
  begin_parallel_loop(function, data, threads, sections_plan(count), 0);
  entry.stay();
}

// The next section's number, from 1 on; 0: none is left.
ROOST_EXPORT unsigned GOMP_sections_next() {
  Member& member = self();
  return next_chunk(member) ? static_cast<unsigned>(member.loop.low + 1) : 0;
}
ROOST_EXPORT unsigned GOMP_sections_start(unsigned count) {
  ompt::Entry entry;
  begin_loop(self(), sections_plan(count));
  return GOMP_sections_next();
}
// gcc 9 and later: as GOMP_loop_start.
ROOST_EXPORT unsigned GOMP_sections2_start(unsigned count, std::uintptr_t* reductions,
                                           void** memory) {
  ompt::Entry entry;
  Member& member = self();
  LoopPlan plan = sections_plan(count);
  plan.shares = reductions || memory;
  begin_loop(member, plan);
  if (plan.shares) begin_shared(member, reductions, memory);
  return GOMP_sections_next();
}
ROOST_EXPORT void GOMP_sections_end_nowait() {
  ompt::Entry entry;
  end_loop(self());
}
ROOST_EXPORT void GOMP_sections_end() {
  ompt::Entry entry;
  Member& member = self();
  end_loop(member);
  team_barrier(member, ompt::Sync::barrier_implicit_workshare);
}
ROOST_EXPORT bool GOMP_sections_end_cancel() {
  ompt::Entry entry;
  Member& member = self();
  end_loop(member);
  return team_barrier(member, ompt::Sync::barrier_implicit_workshare);
}

}  // extern "C"
}  // namespace roost::omp
