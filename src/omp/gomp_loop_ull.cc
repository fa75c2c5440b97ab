// GCC's entry points: worksharing loops whose variable is unsigned (GOMP_loop_ull_*). A loop that
// goes down has `up` false and the step's two's complement.
#include "omp/gomp_loop.h"

namespace roost::omp {

extern "C" {

#define GOMP_LOOP_ULL(name, schedule)                                                              \
  ROOST_EXPORT bool GOMP_loop_ull_##name##_start(bool up, Ull start, Ull end, Ull step, Ull chunk, \
                                                 Ull* low, Ull* high) {                            \
    ompt::Entry entry;                                                                             \
    return begin_gomp(gomp_plan_ull(up, start, end, step, schedule, chunk), low, high);            \
  }                                                                                                \
  ROOST_EXPORT bool GOMP_loop_ull_##name##_next(Ull* low, Ull* high) {                             \
    return next_gomp(low, high);                                                                   \
  }
#define GOMP_LOOP_ULL_RUNTIME(name)                                                               \
  ROOST_EXPORT bool GOMP_loop_ull_##name##_start(bool up, Ull start, Ull end, Ull step, Ull* low, \
                                                 Ull* high) {                                     \
    ompt::Entry entry;                                                                            \
    return begin_gomp(gomp_plan_ull(up, start, end, step, kGompRuntime, 0), low, high);           \
  }                                                                                               \
  ROOST_EXPORT bool GOMP_loop_ull_##name##_next(Ull* low, Ull* high) {                            \
    return next_gomp(low, high);                                                                  \
  }
#define GOMP_LOOP_ULL_ORDERED(name, schedule)                                                   \
  ROOST_EXPORT bool GOMP_loop_ull_ordered_##name##_start(bool up, Ull start, Ull end, Ull step, \
                                                         Ull chunk, Ull* low, Ull* high) {      \
    ompt::Entry entry;                                                                          \
    return begin_gomp_ordered(gomp_plan_ull(up, start, end, step, schedule, chunk), low, high); \
  }                                                                                             \
  ROOST_EXPORT bool GOMP_loop_ull_ordered_##name##_next(Ull* low, Ull* high) {                  \
    return next_gomp_ordered(low, high);                                                        \
  }

GOMP_LOOP_ULL(static, kGompStatic)
GOMP_LOOP_ULL(dynamic, kGompDynamic)
GOMP_LOOP_ULL(guided, kGompGuided)
GOMP_LOOP_ULL(nonmonotonic_dynamic, kGompDynamic)
GOMP_LOOP_ULL(nonmonotonic_guided, kGompGuided)
GOMP_LOOP_ULL_RUNTIME(runtime)
GOMP_LOOP_ULL_RUNTIME(nonmonotonic_runtime)
GOMP_LOOP_ULL_RUNTIME(maybe_nonmonotonic_runtime)
GOMP_LOOP_ULL_ORDERED(static, kGompStatic)
GOMP_LOOP_ULL_ORDERED(dynamic, kGompDynamic)
GOMP_LOOP_ULL_ORDERED(guided, kGompGuided)

ROOST_EXPORT bool GOMP_loop_ull_ordered_runtime_start(bool up, Ull start, Ull end, Ull step,
                                                      Ull* low, Ull* high) {
  ompt::Entry entry;
  return begin_gomp_ordered(gomp_plan_ull(up, start, end, step, kGompRuntime, 0), low, high);
}
ROOST_EXPORT bool GOMP_loop_ull_ordered_runtime_next(Ull* low, Ull* high) {
  return next_gomp_ordered(low, high);
}

ROOST_EXPORT bool GOMP_loop_ull_start(bool up, Ull start, Ull end, Ull step, long schedule,
                                      Ull chunk, Ull* low, Ull* high, std::uintptr_t* reductions,
                                      void** memory) {
  ompt::Entry entry;
  Member& member = self();
  LoopPlan plan = gomp_plan_ull(up, start, end, step, schedule, chunk);
  plan.shares = reductions || memory;
  begin_loop(member, plan);
  if (plan.shares) begin_shared(member, reductions, memory);
  if (!low) return true;
  return next_chunk(member) && give_chunk(member, low, high);
}
ROOST_EXPORT bool GOMP_loop_ull_ordered_start(bool up, Ull start, Ull end, Ull step, long schedule,
                                              Ull chunk, Ull* low, Ull* high,
                                              std::uintptr_t* reductions, void** memory) {
  ompt::Entry entry;
  Member& member = self();
  LoopPlan plan = gomp_plan_ull(up, start, end, step, schedule, chunk);
  plan.ordered = true;
  plan.shares = reductions || memory;
  begin_loop(member, plan);
  if (plan.shares) begin_shared(member, reductions, memory);
  if (!low) return true;
  return next_ordered_chunk(member) && give_chunk(member, low, high);
}

}  // extern "C"
}  // namespace roost::omp
