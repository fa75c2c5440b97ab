// omp_* functions that tell where the caller is and what surrounds it.
#include "omp/affinity.h"
#include "omp/export.h"
#include "omp/query.h"
#include "ult/kernel.h"

namespace roost::omp {
namespace {

// The member's ancestor at the level, or itself; null if there is no such level.
const Member* ancestor(const Member& member, int level) {
  const Member* found = &member;
  if (level < 0 || level > static_cast<int>(member.team->level)) return nullptr;
  while (static_cast<int>(found->team->level) > level) {
    if (!found->team->opener) return nullptr;
    found = found->team->opener;
  }
  return found;
}

}  // namespace

int ancestor_number(const Member& member, int level) {
  const Member* found = ancestor(member, level);
  return found ? static_cast<int>(found->number) : -1;
}
int ancestor_team_size(const Member& member, int level) {
  const Member* found = ancestor(member, level);
  return found ? static_cast<int>(found->team->size) : -1;
}

extern "C" {

ROOST_EXPORT int omp_get_thread_num() { return static_cast<int>(self().number); }
ROOST_EXPORT int omp_get_num_threads() { return static_cast<int>(self().team->size); }
ROOST_EXPORT int omp_get_level() { return static_cast<int>(self().team->level); }
ROOST_EXPORT int omp_get_active_level() { return static_cast<int>(self().team->active_level); }
ROOST_EXPORT int omp_in_parallel() { return self().team->active_level > 0; }
ROOST_EXPORT int omp_in_final() { return self().task->final_; }
ROOST_EXPORT int omp_get_ancestor_thread_num(int level) { return ancestor_number(self(), level); }
ROOST_EXPORT int omp_get_team_size(int level) { return ancestor_team_size(self(), level); }
ROOST_EXPORT int omp_get_num_teams() { return static_cast<int>(self().team->league_size); }
ROOST_EXPORT int omp_get_team_num() { return static_cast<int>(self().team->league); }
ROOST_EXPORT int omp_get_num_procs() {
  settings();
  return static_cast<int>(usable_cores());
}

ROOST_EXPORT double omp_get_wtime() { return static_cast<double>(ult::kernel::now()) * 1e-9; }
ROOST_EXPORT double omp_get_wtick() {
  timespec resolution = {0, 1};
  clock_getres(CLOCK_MONOTONIC, &resolution);
  return static_cast<double>(resolution.tv_sec) + static_cast<double>(resolution.tv_nsec) * 1e-9;
}

}  // extern "C"
}  // namespace roost::omp
