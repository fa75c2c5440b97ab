// The omp_* functions of this library that others of its files call.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
int omp_get_num_procs();
int omp_get_level();
int omp_get_active_level();
int omp_in_parallel();
int omp_in_final();
int omp_get_num_teams();
int omp_get_team_num();
int omp_get_thread_limit();
int omp_get_dynamic();
int omp_get_nested();
int omp_get_max_active_levels();
int omp_get_supported_active_levels();
int omp_get_cancellation();
int omp_get_max_task_priority();
int omp_get_max_teams();
int omp_get_teams_thread_limit();
int omp_get_default_device();
int omp_get_num_devices();
int omp_get_initial_device();
int omp_get_device_num();
int omp_is_initial_device();
int omp_get_proc_bind();
int omp_get_num_places();
int omp_get_place_num();
int omp_get_partition_num_places();

void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
void omp_set_nested(int nested);
void omp_set_max_active_levels(int levels);
void omp_set_num_teams(int teams);
void omp_set_teams_thread_limit(int limit);
void omp_set_default_device(int device);

int omp_get_ancestor_thread_num(int level);
int omp_get_team_size(int level);
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int* ids);
void omp_get_partition_place_nums(int* places);

double omp_get_wtime();
double omp_get_wtick();
void omp_set_schedule(std::uint32_t kind, int chunk);
void omp_get_schedule(std::uint32_t* kind, int* chunk);

int omp_pause_resource(int kind, int device);
int omp_pause_resource_all(int kind);
void omp_fulfill_event(std::uintptr_t event);
int omp_control_tool(int command, int modifier, void* argument);

}  // extern "C"
