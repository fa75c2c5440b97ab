// LLVM's entry points: single, master, masked and scope, and their barriers.
#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/single.h"

namespace roost::omp {

extern "C" {

ROOST_EXPORT std::int32_t __kmpc_single(Ident*, std::int32_t) { return first_in_single(self()); }
ROOST_EXPORT void __kmpc_end_single(Ident*, std::int32_t) {}

ROOST_EXPORT std::int32_t __kmpc_master(Ident*, std::int32_t) { return self().number == 0; }
ROOST_EXPORT void __kmpc_end_master(Ident*, std::int32_t) {}
ROOST_EXPORT std::int32_t __kmpc_masked(Ident*, std::int32_t, std::int32_t filter) {
  return static_cast<std::int32_t>(self().number) == filter;
}
ROOST_EXPORT void __kmpc_end_masked(Ident*, std::int32_t) {}

// Calls for tools in LLVM's runtime.
ROOST_EXPORT void __kmpc_scope(Ident*, std::int32_t, void*) {}
ROOST_EXPORT void __kmpc_end_scope(Ident*, std::int32_t, void*) {}

// The master alone goes on (1), until it calls the second one.
ROOST_EXPORT std::int32_t __kmpc_barrier_master(Ident*, std::int32_t) {
  Member& member = self();
  team_barrier(member);
  if (member.number == 0) return 1;
  team_barrier(member);
  return 0;
}
ROOST_EXPORT void __kmpc_end_barrier_master(Ident*, std::int32_t) { team_barrier(self()); }
ROOST_EXPORT std::int32_t __kmpc_barrier_master_nowait(Ident*, std::int32_t) {
  Member& member = self();
  team_barrier(member);
  return member.number == 0;
}

// The member of the single region shows where its variables are (`data`); the others copy from
// there before it goes on.
ROOST_EXPORT void __kmpc_copyprivate(Ident*, std::int32_t, std::size_t, void* data,
                                     void (*copy)(void* to, void* from), std::int32_t executed) {
  Member& member = self();
  Team& team = *member.team;
  if (executed) team.copyprivate = data;
  if (team_barrier(member)) return;  // the region is cancelled
  if (!executed) copy(data, team.copyprivate);
  team_barrier(member);
}
// The compiler's code copies and has the second barrier (clang 17).
ROOST_EXPORT void* __kmpc_copyprivate_light(Ident*, std::int32_t, void* data) {
  Member& member = self();
  Team& team = *member.team;
  if (data) team.copyprivate = data;
  team_barrier(member);
  return team.copyprivate;
}

}  // extern "C"
}  // namespace roost::omp
