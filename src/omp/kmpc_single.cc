// LLVM's entry points: single, master, masked and scope, and their barriers.
#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/single.h"

namespace roost::omp {
namespace {

bool executes_masked(std::int32_t filter) {
  Member& member = self();
  if (static_cast<std::int32_t>(member.number) != filter) return false;
  ompt::masked(member, ompt::Endpoint::begin);
  return true;
}

}  // namespace

extern "C" {

ROOST_EXPORT std::int32_t __kmpc_single(Ident*, std::int32_t) {
  ompt::Entry entry;
  Member& member = self();
  bool executes = first_in_single(member);
  tell_single(member, executes);
  return executes;
}
ROOST_EXPORT void __kmpc_end_single(Ident*, std::int32_t) {
  ompt::Entry entry;
  ompt::work_ends(self());
}

ROOST_EXPORT std::int32_t __kmpc_master(Ident*, std::int32_t) {
  ompt::Entry entry;
  return executes_masked(0);
}
ROOST_EXPORT void __kmpc_end_master(Ident*, std::int32_t) {
  ompt::Entry entry;
  ompt::masked(self(), ompt::Endpoint::end);
}
ROOST_EXPORT std::int32_t __kmpc_masked(Ident*, std::int32_t, std::int32_t filter) {
  ompt::Entry entry;
  return executes_masked(filter);
}
ROOST_EXPORT void __kmpc_end_masked(Ident*, std::int32_t) {
  ompt::Entry entry;
  ompt::masked(self(), ompt::Endpoint::end);
}

// For tools alone.
ROOST_EXPORT void __kmpc_scope(Ident*, std::int32_t, void*) {
  ompt::Entry entry;
  ompt::work_begins(self(), ompt::Work::scope, 1);
}
ROOST_EXPORT void __kmpc_end_scope(Ident*, std::int32_t, void*) {
  ompt::Entry entry;
  ompt::work_ends(self());
}

// The master alone goes on (1), until it calls the second one.
ROOST_EXPORT std::int32_t __kmpc_barrier_master(Ident*, std::int32_t) {
  ompt::Entry entry;
  Member& member = self();
  team_barrier(member, ompt::Sync::barrier_implementation);
  if (member.number == 0) return 1;
  team_barrier(member, ompt::Sync::barrier_implementation);
  return 0;
}
ROOST_EXPORT void __kmpc_end_barrier_master(Ident*, std::int32_t) {
  ompt::Entry entry;
  team_barrier(self(), ompt::Sync::barrier_implementation);
}
ROOST_EXPORT std::int32_t __kmpc_barrier_master_nowait(Ident*, std::int32_t) {
  ompt::Entry entry;
  Member& member = self();
  team_barrier(member, ompt::Sync::barrier_implementation);
  return member.number == 0;
}

// The member of the single region shows where its variables are (`data`); the others copy from
// there before it goes on.
ROOST_EXPORT void __kmpc_copyprivate(Ident*, std::int32_t, std::size_t, void* data,
                                     void (*copy)(void* to, void* from), std::int32_t executed) {
  ompt::Entry entry;
  Member& member = self();
  Team& team = *member.team;
  if (executed) team.copyprivate = data;
  if (team_barrier(member, ompt::Sync::barrier_implementation)) return;  // the region is cancelled
  if (!executed) copy(data, team.copyprivate);
  team_barrier(member, ompt::Sync::barrier_implementation);
}
// The compiler's code copies and has the second barrier (clang 17).
ROOST_EXPORT void* __kmpc_copyprivate_light(Ident*, std::int32_t, void* data) {
  ompt::Entry entry;
  Member& member = self();
  Team& team = *member.team;
  if (data) team.copyprivate = data;
  team_barrier(member, ompt::Sync::barrier_implementation);
  return team.copyprivate;
}

}  // extern "C"
}  // namespace roost::omp
