// GCC's entry points: single, scope, and ordered regions.
#include "omp/gomp_loop.h"
#include "omp/single.h"

namespace roost::omp {

extern "C" {

// There is no call at the end of the region: it ends, for a tool, with the member's next barrier or
// construct.
ROOST_EXPORT bool GOMP_single_start() {
  ompt::Entry entry;
  Member& member = self();
  bool executes = first_in_single(member);
  tell_single(member, executes);
  return executes;
}

// Null for the member that executes the region, which then calls GOMP_single_copy_end; what that
// one passed there for the others. They copy from its stack before the barrier that the compiler
// puts behind, so the team needs one place only.
ROOST_EXPORT void* GOMP_single_copy_start() {
  ompt::Entry entry;
  Member& member = self();
  bool executes = first_in_single(member);
  tell_single(member, executes);
  if (executes) return nullptr;
  team_barrier(member, ompt::Sync::barrier_implementation);
  return member.team->copyprivate;
}
ROOST_EXPORT void GOMP_single_copy_end(void* data) {
  ompt::Entry entry;
  Member& member = self();
  member.team->copyprivate = data;
  team_barrier(member, ompt::Sync::barrier_implementation);
}

// A scope construct with task reductions (gcc 12). It has no end of its own, so its slot is left at
// once: what was registered lasts until GOMP_workshare_task_reduction_unregister.
ROOST_EXPORT void GOMP_scope_start(std::uintptr_t* reductions) {
  Member& member = self();
  LoopPlan plan;
  plan.shares = true;
  plan.work = ompt::Work::none;
  begin_loop(member, plan);
  begin_shared(member, reductions, nullptr);
  end_loop(member);
}

ROOST_EXPORT void GOMP_ordered_start() {
  ompt::Entry entry;
  begin_ordered(self());
}
ROOST_EXPORT void GOMP_ordered_end() {
  ompt::Entry entry;
  end_ordered(self());
}

}  // extern "C"
}  // namespace roost::omp
