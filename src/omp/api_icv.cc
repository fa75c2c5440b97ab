// omp_* functions that read and write internal control variables.
#include "omp/affinity.h"
#include "omp/export.h"
#include "omp/placement.h"
#include "omp/team.h"

namespace roost::omp {
namespace {

Icvs& icvs() { return self().task->icvs; }

constexpr std::uint32_t kMonotonic = 0x8000'0000;
// Kinds of LLVM's own (kmp_sched_t).
constexpr std::uint32_t kTrapezoidal = 101, kStaticSteal = 102;

}  // namespace

extern "C" {

ROOST_EXPORT void omp_set_num_threads(int threads) { icvs().threads = threads > 0 ? threads : 1; }
// Whatever the thread limit is.
ROOST_EXPORT int omp_get_max_threads() { return icvs().threads; }
ROOST_EXPORT int omp_get_thread_limit() { return icvs().thread_limit; }

ROOST_EXPORT void omp_set_dynamic(int dynamic) { icvs().dynamic = dynamic != 0; }
ROOST_EXPORT int omp_get_dynamic() { return icvs().dynamic; }

ROOST_EXPORT void omp_set_max_active_levels(int levels) {
  if (levels >= 0) icvs().max_active_levels = levels;
}
ROOST_EXPORT int omp_get_max_active_levels() { return icvs().max_active_levels; }
ROOST_EXPORT int omp_get_supported_active_levels() { return 0x7fff'ffff; }
// Deprecated since 5.0, which defines them by the levels.
ROOST_EXPORT void omp_set_nested(int nested) {
  Icvs& own = icvs();
  if (!nested) {
    own.max_active_levels = 1;
  } else if (own.max_active_levels <= 1) {
    own.max_active_levels = omp_get_supported_active_levels();
  }
}
ROOST_EXPORT int omp_get_nested() {
  Member& member = self();
  std::int32_t levels = member.task->icvs.max_active_levels;
  return levels > 1 && levels > static_cast<std::int32_t>(member.team->active_level);
}

ROOST_EXPORT void omp_set_schedule(std::uint32_t kind, int chunk) {
  std::uint32_t plain = kind & ~kMonotonic;
  bool trapezoidal = plain == kTrapezoidal;
  if (trapezoidal) plain = static_cast<std::uint32_t>(Schedule::guided);
  if (plain == kStaticSteal) plain = static_cast<std::uint32_t>(Schedule::dynamic);
  if (plain < 1 || plain > 4) return;
  Icvs& own = icvs();
  own.schedule = static_cast<Schedule>(plain);
  own.monotonic = kind & kMonotonic;
  own.trapezoidal = trapezoidal;
  own.chunk = chunk > 0 && own.schedule != Schedule::automatic ? chunk : 0;
}
ROOST_EXPORT void omp_get_schedule(std::uint32_t* kind, int* chunk) {
  const Icvs& own = icvs();
  std::uint32_t plain = own.trapezoidal ? kTrapezoidal : static_cast<std::uint32_t>(own.schedule);
  *kind = plain | (own.monotonic ? kMonotonic : 0);
  *chunk = own.chunk ? static_cast<int>(own.chunk) : own.schedule != Schedule::static_;
}

ROOST_EXPORT int omp_get_cancellation() { return settings().cancellation; }
ROOST_EXPORT int omp_get_max_task_priority() { return settings().max_task_priority; }

ROOST_EXPORT void omp_set_num_teams(int teams) {
  settings();  // or reading them later would overwrite it
  num_teams.store(teams > 0 ? teams : 0, std::memory_order_relaxed);
}
ROOST_EXPORT int omp_get_max_teams() {
  settings();
  return num_teams.load(std::memory_order_relaxed);
}
ROOST_EXPORT void omp_set_teams_thread_limit(int limit) {
  settings();
  teams_thread_limit.store(limit > 0 ? limit : 0, std::memory_order_relaxed);
}
ROOST_EXPORT int omp_get_teams_thread_limit() {
  settings();
  return teams_thread_limit.load(std::memory_order_relaxed);
}

ROOST_EXPORT void omp_set_default_device(int device) {
  icvs().default_device = device >= 0 ? device : 0;
}
ROOST_EXPORT int omp_get_default_device() { return icvs().default_device; }

ROOST_EXPORT int omp_get_proc_bind() { return static_cast<int>(icvs().bind); }
ROOST_EXPORT int omp_get_num_places() {
  settings();
  return static_cast<int>(place_count());
}
ROOST_EXPORT int omp_get_place_num_procs(int place) {
  settings();
  if (place < 0 || static_cast<unsigned>(place) >= place_count()) return 0;
  const std::uint16_t* cpus = nullptr;
  return static_cast<int>(place_cpus(static_cast<unsigned>(place), cpus));
}
ROOST_EXPORT void omp_get_place_proc_ids(int place, int* ids) {
  settings();
  if (place < 0 || static_cast<unsigned>(place) >= place_count()) return;
  const std::uint16_t* cpus = nullptr;
  unsigned count = place_cpus(static_cast<unsigned>(place), cpus);
  for (unsigned i = 0; i < count; ++i) ids[i] = cpus[i];
}
ROOST_EXPORT int omp_get_place_num() { return placement_of(self()).number(); }
ROOST_EXPORT int omp_get_partition_num_places() {
  return static_cast<int>(placement_of(self()).count);
}
ROOST_EXPORT void omp_get_partition_place_nums(int* places) {
  Placement own = placement_of(self());
  for (unsigned i = 0; i < own.count; ++i) places[i] = static_cast<int>(own.first + i);
}

}  // extern "C"
}  // namespace roost::omp
