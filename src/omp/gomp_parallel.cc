// GCC's entry points: parallel regions, barriers and critical sections (libgomp's ABI, gcc 4.2 to
// 14).
#include "omp/export.h"
#include "omp/lock_events.h"
#include "omp/team.h"

namespace roost::omp {
namespace {

void invoke_gomp(Team& team, Member&) {
  ompt::UserCode code;
  reinterpret_cast<void (*)(void*)>(team.region.function)(team.region.data);
}

Region gomp_region(void (*function)(void*), void* data, unsigned threads, unsigned flags) {
  Region region;
  region.invoke = invoke_gomp;
  region.function = reinterpret_cast<void*>(function);
  region.data = data;
  region.threads = threads;
  region.take_flags(flags);
  return region;
}

constinit Lock unnamed_critical;

}  // namespace

extern "C" {

ROOST_EXPORT void GOMP_parallel(void (*function)(void*), void* data, unsigned threads,
                                unsigned flags) {
  ompt::Entry entry;
  parallel(gomp_region(function, data, threads, flags));
}

// Before gcc 4.9: the caller runs the master's part between the two.
ROOST_EXPORT void GOMP_parallel_start(void (*function)(void*), void* data, unsigned threads) {
  ompt::Entry entry;
  begin_region(gomp_region(function, data, threads, 0));
  entry.stay();
}
ROOST_EXPORT void GOMP_parallel_end() {
  ompt::Entry entry;
  end_region();
}

// Of the barrier construct, and at the end of what GCC divides itself: static loops, single.
ROOST_EXPORT void GOMP_barrier() {
  ompt::Entry entry;
  team_barrier(self(), ompt::Sync::barrier_explicit);
}
ROOST_EXPORT bool GOMP_barrier_cancel() {
  ompt::Entry entry;
  return team_barrier(self(), ompt::Sync::barrier_explicit);
}

ROOST_EXPORT void GOMP_critical_start() {
  ompt::Entry entry;
  acquire_as(ompt::Mutex::critical, unnamed_critical);
}
ROOST_EXPORT void GOMP_critical_end() {
  ompt::Entry entry;
  release_as(ompt::Mutex::critical, unnamed_critical);
}
// `word`: a common symbol of the size of a pointer, zero at first.
ROOST_EXPORT void GOMP_critical_name_start(void** word) {
  ompt::Entry entry;
  acquire_as(ompt::Mutex::critical, *reinterpret_cast<Lock*>(word));
}
ROOST_EXPORT void GOMP_critical_name_end(void** word) {
  ompt::Entry entry;
  release_as(ompt::Mutex::critical, *reinterpret_cast<Lock*>(word));
}

// For atomic constructs the processor has no instruction for.
constinit Lock atomic_fallback;
ROOST_EXPORT void GOMP_atomic_start() {
  ompt::Entry entry;
  acquire_as(ompt::Mutex::atomic, atomic_fallback);
}
ROOST_EXPORT void GOMP_atomic_end() {
  ompt::Entry entry;
  release_as(ompt::Mutex::atomic, atomic_fallback);
}

}  // extern "C"
}  // namespace roost::omp
