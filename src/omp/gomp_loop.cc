// GCC's entry points: worksharing loops whose variable is signed (GOMP_loop_*), and their ends.
#include "omp/gomp_loop.h"

namespace roost::omp {

void begin_shared(Member& member, std::uintptr_t* reductions, void** memory) {
  if (!member.loop.workshare) {
    // The region is cancelled, and nobody else is in this construct. What the caller still writes
    // to the memory is lost, as is the memory.
    if (reductions) register_task_reductions(reductions, nullptr);
    if (memory) {
      *memory = ult::permanent(reinterpret_cast<std::size_t>(*memory));
      if (!*memory) ult::out_of_memory("a cancelled worksharing construct");
    }
    return;
  }
  Workshare& workshare = *member.loop.workshare;
  if (first_to_prepare(member, workshare)) {
    if (memory) workshare.memory = shared_memory(workshare, reinterpret_cast<std::size_t>(*memory));
    if (reductions) register_task_reductions(reductions, nullptr);
    workshare.reductions = reductions;
    prepared(workshare);
  } else if (reductions) {
    register_task_reductions(reductions, workshare.reductions);
  }
  if (memory) *memory = workshare.memory;
}

extern "C" {

#define GOMP_LOOP(name, schedule)                                                         \
  ROOST_EXPORT bool GOMP_loop_##name##_start(long start, long end, long step, long chunk, \
                                             long* low, long* high) {                     \
    ompt::Entry entry;                                                                    \
    return begin_gomp(gomp_plan(start, end, step, schedule, chunk), low, high);           \
  }                                                                                       \
  ROOST_EXPORT bool GOMP_loop_##name##_next(long* low, long* high) { return next_gomp(low, high); }
#define GOMP_LOOP_RUNTIME(name)                                                          \
  ROOST_EXPORT bool GOMP_loop_##name##_start(long start, long end, long step, long* low, \
                                             long* high) {                               \
    ompt::Entry entry;                                                                   \
    return begin_gomp(gomp_plan(start, end, step, kGompRuntime, 0), low, high);          \
  }                                                                                      \
  ROOST_EXPORT bool GOMP_loop_##name##_next(long* low, long* high) { return next_gomp(low, high); }

GOMP_LOOP(static, kGompStatic)
GOMP_LOOP(dynamic, kGompDynamic)
GOMP_LOOP(guided, kGompGuided)
GOMP_LOOP(nonmonotonic_dynamic, kGompDynamic)
GOMP_LOOP(nonmonotonic_guided, kGompGuided)
GOMP_LOOP_RUNTIME(runtime)
GOMP_LOOP_RUNTIME(nonmonotonic_runtime)
GOMP_LOOP_RUNTIME(maybe_nonmonotonic_runtime)

#define GOMP_LOOP_ORDERED(name, schedule)                                                         \
  ROOST_EXPORT bool GOMP_loop_ordered_##name##_start(long start, long end, long step, long chunk, \
                                                     long* low, long* high) {                     \
    ompt::Entry entry;                                                                            \
    return begin_gomp_ordered(gomp_plan(start, end, step, schedule, chunk), low, high);           \
  }                                                                                               \
  ROOST_EXPORT bool GOMP_loop_ordered_##name##_next(long* low, long* high) {                      \
    return next_gomp_ordered(low, high);                                                          \
  }

GOMP_LOOP_ORDERED(static, kGompStatic)
GOMP_LOOP_ORDERED(dynamic, kGompDynamic)
GOMP_LOOP_ORDERED(guided, kGompGuided)

ROOST_EXPORT bool GOMP_loop_ordered_runtime_start(long start, long end, long step, long* low,
                                                  long* high) {
  ompt::Entry entry;
  return begin_gomp_ordered(gomp_plan(start, end, step, kGompRuntime, 0), low, high);
}
ROOST_EXPORT bool GOMP_loop_ordered_runtime_next(long* low, long* high) {
  return next_gomp_ordered(low, high);
}

// gcc 9 and later, for loops with task reductions or shared memory. `low` may be null: then the
// caller divides the loop itself.
ROOST_EXPORT bool GOMP_loop_start(long start, long end, long step, long schedule, long chunk,
                                  long* low, long* high, std::uintptr_t* reductions,
                                  void** memory) {
  ompt::Entry entry;
  Member& member = self();
  LoopPlan plan = gomp_plan(start, end, step, schedule, chunk);
  plan.shares = reductions || memory;
  begin_loop(member, plan);
  if (plan.shares) begin_shared(member, reductions, memory);
  if (!low) return true;
  return next_chunk(member) && give_chunk(member, low, high);
}
ROOST_EXPORT bool GOMP_loop_ordered_start(long start, long end, long step, long schedule,
                                          long chunk, long* low, long* high,
                                          std::uintptr_t* reductions, void** memory) {
  ompt::Entry entry;
  Member& member = self();
  LoopPlan plan = gomp_plan(start, end, step, schedule, chunk);
  plan.ordered = true;
  plan.shares = reductions || memory;
  begin_loop(member, plan);
  if (plan.shares) begin_shared(member, reductions, memory);
  if (!low) return true;
  return next_ordered_chunk(member) && give_chunk(member, low, high);
}

ROOST_EXPORT void GOMP_loop_end_nowait() {
  ompt::Entry entry;
  end_loop(self());
}
ROOST_EXPORT void GOMP_loop_end() {
  ompt::Entry entry;
  Member& member = self();
  end_loop(member);
  team_barrier(member, ompt::Sync::barrier_implicit_workshare);
}
// True if the region was cancelled.
ROOST_EXPORT bool GOMP_loop_end_cancel() {
  ompt::Entry entry;
  Member& member = self();
  end_loop(member);
  return team_barrier(member, ompt::Sync::barrier_implicit_workshare);
}

}  // extern "C"
}  // namespace roost::omp
