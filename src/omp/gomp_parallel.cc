// GCC's entry points: parallel regions, barriers and critical sections (libgomp's ABI, gcc 4.2 to
// 14).
#include "omp/export.h"
#include "omp/lock.h"
#include "omp/team.h"

namespace roost::omp {
namespace {

void invoke_gomp(Team& team, Member&) {
  reinterpret_cast<void (*)(void*)>(team.region.function)(team.region.data);
}

Region gomp_region(void (*function)(void*), void* data, unsigned threads, unsigned flags) {
  Region region;
  region.invoke = invoke_gomp;
  region.function = reinterpret_cast<void*>(function);
  region.data = data;
  region.threads = threads;
  region.bind = static_cast<Bind>(flags & 7);
  return region;
}

constinit Lock unnamed_critical;

}  // namespace

extern "C" {

ROOST_EXPORT void GOMP_parallel(void (*function)(void*), void* data, unsigned threads,
                                unsigned flags) {
  parallel(gomp_region(function, data, threads, flags));
}

// Before gcc 4.9: the caller runs the master's part between the two.
ROOST_EXPORT void GOMP_parallel_start(void (*function)(void*), void* data, unsigned threads) {
  begin_region(gomp_region(function, data, threads, 0));
}
ROOST_EXPORT void GOMP_parallel_end() { end_region(); }

ROOST_EXPORT void GOMP_barrier() { team_barrier(self()); }
ROOST_EXPORT bool GOMP_barrier_cancel() { return team_barrier(self()); }

ROOST_EXPORT void GOMP_critical_start() { unnamed_critical.acquire(); }
ROOST_EXPORT void GOMP_critical_end() { unnamed_critical.release(); }
// `word`: a common symbol of the size of a pointer, zero at first.
ROOST_EXPORT void GOMP_critical_name_start(void** word) {
  reinterpret_cast<Lock*>(word)->acquire();
}
ROOST_EXPORT void GOMP_critical_name_end(void** word) { reinterpret_cast<Lock*>(word)->release(); }

// For atomic constructs the processor has no instruction for.
constinit Lock atomic_fallback;
ROOST_EXPORT void GOMP_atomic_start() { atomic_fallback.acquire(); }
ROOST_EXPORT void GOMP_atomic_end() { atomic_fallback.release(); }

}  // extern "C"
}  // namespace roost::omp
