// GCC's entry points: regions that are one loop (GOMP_parallel_loop_*). Members have begun the loop
// when their function starts.
#include "omp/gomp_loop.h"

namespace roost::omp {
namespace {

// The chunks of a loop with a schedule of its own; 0: not known, or more than any team's members.
unsigned pieces_of(const LoopPlan& plan) {
  if (plan.runtime) return 0;
  std::uint64_t chunk = plan.chunk ? plan.chunk : 1;
  std::uint64_t chunks = plan.trip ? (plan.trip - 1) / chunk + 1 : 1;
  return chunks <= ult::kMaxCalls ? static_cast<unsigned>(chunks) : 0;
}

void invoke_combined(Team& team, Member& member) {
  auto& combined = *static_cast<CombinedLoop*>(team.region.data);
  begin_loop(member, combined.plan);
  ompt::UserCode code;
  combined.function(combined.data);
}

}  // namespace

// The number of iterations is known before the team is formed. The team has the size the program
// asked for nevertheless, unless it leaves that to the runtime: it sees it in
// omp_get_num_threads(). Members that find no iteration cost a call each.
Team& begin_parallel_loop(void (*function)(void*), void* data, unsigned threads,
                          const LoopPlan& plan, unsigned flags) {
  // With the opener, which stays the opener until the region ends: old compilers return to the
  // program between the region's begin and end.
  CombinedLoop& combined = self().combined;
  combined = {function, data, plan};
  Region region;
  region.invoke = invoke_combined;
  region.function = reinterpret_cast<void*>(function);
  region.data = &combined;
  region.threads = threads;
  region.pieces = pieces_of(plan);
  region.take_flags(flags);
  Team& team = begin_region(region);
  begin_loop(team.members[0], plan);
  return team;
}

extern "C" {

#define GOMP_PARALLEL_LOOP(name, schedule)                                                       \
  ROOST_EXPORT void GOMP_parallel_loop_##name(void (*function)(void*), void* data,               \
                                              unsigned threads, long start, long end, long step, \
                                              long chunk, unsigned flags) {                      \
    ompt::Entry entry;                                                                           \
    parallel_loop(function, data, threads, gomp_plan(start, end, step, schedule, chunk), flags); \
  }
#define GOMP_PARALLEL_LOOP_RUNTIME(name)                                                         \
  ROOST_EXPORT void GOMP_parallel_loop_##name(void (*function)(void*), void* data,               \
                                              unsigned threads, long start, long end, long step, \
                                              unsigned flags) {                                  \
    ompt::Entry entry;                                                                           \
    parallel_loop(function, data, threads, gomp_plan(start, end, step, kGompRuntime, 0), flags); \
  }

GOMP_PARALLEL_LOOP(static, kGompStatic)
GOMP_PARALLEL_LOOP(dynamic, kGompDynamic)
GOMP_PARALLEL_LOOP(guided, kGompGuided)
GOMP_PARALLEL_LOOP(nonmonotonic_dynamic, kGompDynamic)
GOMP_PARALLEL_LOOP(nonmonotonic_guided, kGompGuided)
GOMP_PARALLEL_LOOP_RUNTIME(runtime)
GOMP_PARALLEL_LOOP_RUNTIME(nonmonotonic_runtime)
GOMP_PARALLEL_LOOP_RUNTIME(maybe_nonmonotonic_runtime)

// Before gcc 4.9: the caller runs the master's part, then calls GOMP_parallel_end.
#define GOMP_PARALLEL_LOOP_START(name, schedule)                                                   \
  ROOST_EXPORT void GOMP_parallel_loop_##name##_start(void (*function)(void*), void* data,         \
                                                      unsigned threads, long start, long end,      \
                                                      long step, long chunk) {                     \
    ompt::Entry entry;                                                                             \
    begin_parallel_loop(function, data, threads, gomp_plan(start, end, step, schedule, chunk), 0); \
    entry.stay();                                                                                  \
  }
GOMP_PARALLEL_LOOP_START(static, kGompStatic)
GOMP_PARALLEL_LOOP_START(dynamic, kGompDynamic)
GOMP_PARALLEL_LOOP_START(guided, kGompGuided)
ROOST_EXPORT void GOMP_parallel_loop_runtime_start(void (*function)(void*), void* data,
                                                   unsigned threads, long start, long end,
                                                   long step) {
  ompt::Entry entry;
  begin_parallel_loop(function, data, threads, gomp_plan(start, end, step, kGompRuntime, 0), 0);
  entry.stay();
}

}  // extern "C"
}  // namespace roost::omp
