// The API for Fortran: arguments by reference, names with an underscore; and with _8_ for programs
// whose default integers have eight bytes.
#include "omp/api.h"
#include "omp/export.h"
#include "omp/ompt.h"

namespace {

using Integer4 = const std::int32_t*;
using Integer8 = const std::int64_t*;

// A value of eight bytes in the range of an int.
int clamp(std::int64_t value) {
  if (value > 0x7fff'ffff) return 0x7fff'ffff;
  if (value < -0x7fff'ffff) return -0x7fff'ffff;
  return static_cast<int>(value);
}

// Numbers of four bytes are written to the front of an array of longer ones, and widened from the
// back.
std::int32_t* halves_of(std::int64_t* numbers) { return reinterpret_cast<std::int32_t*>(numbers); }
void widen(std::int64_t* numbers, int count) {
  while (count-- > 0) numbers[count] = halves_of(numbers)[count];
}

}  // namespace

#define GET(name) \
  ROOST_EXPORT std::int32_t name##_() { return name(); }
#define SET(name)                                             \
  ROOST_EXPORT void name##_(Integer4 value) { name(*value); } \
  ROOST_EXPORT void name##_8_(Integer8 value) { name(clamp(*value)); }
#define GET_BY(name)                                                         \
  ROOST_EXPORT std::int32_t name##_(Integer4 value) { return name(*value); } \
  ROOST_EXPORT std::int32_t name##_8_(Integer8 value) { return name(clamp(*value)); }

extern "C" {

GET(omp_get_thread_num)
GET(omp_get_num_threads)
GET(omp_get_max_threads)
GET(omp_get_num_procs)
GET(omp_get_level)
GET(omp_get_active_level)
GET(omp_in_parallel)
GET(omp_in_final)
GET(omp_get_num_teams)
GET(omp_get_team_num)
GET(omp_get_thread_limit)
GET(omp_get_dynamic)
GET(omp_get_nested)
GET(omp_get_max_active_levels)
GET(omp_get_supported_active_levels)
GET(omp_get_cancellation)
GET(omp_get_max_task_priority)
GET(omp_get_max_teams)
GET(omp_get_teams_thread_limit)
GET(omp_get_default_device)
GET(omp_get_num_devices)
GET(omp_get_initial_device)
GET(omp_get_device_num)
GET(omp_is_initial_device)
GET(omp_get_proc_bind)
GET(omp_get_num_places)
GET(omp_get_place_num)
GET(omp_get_partition_num_places)

SET(omp_set_num_threads)
SET(omp_set_dynamic)
SET(omp_set_nested)
SET(omp_set_max_active_levels)
SET(omp_set_num_teams)
SET(omp_set_teams_thread_limit)
SET(omp_set_default_device)

GET_BY(omp_get_ancestor_thread_num)
GET_BY(omp_get_team_size)
GET_BY(omp_get_place_num_procs)

ROOST_EXPORT double omp_get_wtime_() { return omp_get_wtime(); }
ROOST_EXPORT double omp_get_wtick_() { return omp_get_wtick(); }

ROOST_EXPORT void omp_set_schedule_(const std::uint32_t* kind, Integer4 chunk) {
  omp_set_schedule(*kind, *chunk);
}
ROOST_EXPORT void omp_set_schedule_8_(const std::uint32_t* kind, Integer8 chunk) {
  omp_set_schedule(*kind, clamp(*chunk));
}
ROOST_EXPORT void omp_get_schedule_(std::uint32_t* kind, std::int32_t* chunk) {
  omp_get_schedule(kind, chunk);
}
ROOST_EXPORT void omp_get_schedule_8_(std::uint32_t* kind, std::int64_t* chunk) {
  int value = 0;
  omp_get_schedule(kind, &value);
  *chunk = value;
}

ROOST_EXPORT void omp_get_place_proc_ids_(Integer4 place, std::int32_t* ids) {
  omp_get_place_proc_ids(*place, ids);
}
ROOST_EXPORT void omp_get_place_proc_ids_8_(Integer8 place, std::int64_t* ids) {
  int number = clamp(*place);
  omp_get_place_proc_ids(number, halves_of(ids));
  widen(ids, omp_get_place_num_procs(number));
}
ROOST_EXPORT void omp_get_partition_place_nums_(std::int32_t* places) {
  omp_get_partition_place_nums(places);
}
ROOST_EXPORT void omp_get_partition_place_nums_8_(std::int64_t* places) {
  omp_get_partition_place_nums(halves_of(places));
  widen(places, omp_get_partition_num_places());
}

ROOST_EXPORT std::int32_t omp_pause_resource_(Integer4 kind, Integer4 device) {
  return omp_pause_resource(*kind, *device);
}
ROOST_EXPORT std::int32_t omp_pause_resource_all_(Integer4 kind) {
  return omp_pause_resource_all(*kind);
}
ROOST_EXPORT std::int32_t omp_control_tool_(Integer4 command, Integer4 modifier, void* argument) {
  roost::omp::ompt::Entry entry;
  return roost::omp::ompt::control_tool(*command, *modifier, argument, __builtin_return_address(0));
}

// By value, unlike the others.
ROOST_EXPORT void omp_fulfill_event_(std::uintptr_t event) { omp_fulfill_event(event); }

// What libomp's omp_lib binds to, by value.
ROOST_EXPORT void ompc_set_num_threads(int value) { omp_set_num_threads(value); }
ROOST_EXPORT void ompc_set_dynamic(int value) { omp_set_dynamic(value); }
ROOST_EXPORT void ompc_set_nested(int value) { omp_set_nested(value); }
ROOST_EXPORT void ompc_set_max_active_levels(int value) { omp_set_max_active_levels(value); }
ROOST_EXPORT void ompc_set_schedule(std::uint32_t kind, int chunk) {
  omp_set_schedule(kind, chunk);
}
ROOST_EXPORT int ompc_get_ancestor_thread_num(int level) {
  return omp_get_ancestor_thread_num(level);
}
ROOST_EXPORT int ompc_get_team_size(int level) { return omp_get_team_size(level); }

}  // extern "C"
