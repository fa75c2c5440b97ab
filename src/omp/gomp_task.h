// What GCC's entry points for tasks have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/team.h"

namespace roost::omp {

// GOMP_task's and GOMP_taskloop's flags.
inline constexpr unsigned kGompUntied = 1;
inline constexpr unsigned kGompFinal = 2;
inline constexpr unsigned kGompDepend = 8;
inline constexpr unsigned kGompPriority = 16;
inline constexpr unsigned kGompUp = 256;
inline constexpr unsigned kGompGrainsize = 512;
inline constexpr unsigned kGompIf = 1024;
inline constexpr unsigned kGompNogroup = 2048;
inline constexpr unsigned kGompReduction = 4096;
inline constexpr unsigned kGompDetach = 8192;
inline constexpr unsigned kGompStrict = 16384;

// A task's body and what it is to be given.
struct GompBody {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  void (*copy)(void*, void*) = nullptr;  // null: as memcpy
  std::size_t bytes = 0;
  std::size_t alignment = 1;
};

// ExplicitTask::run of gcc's tasks.
void run_gomp(ExplicitTask& task, Member& member);
// Whether a task construct is skipped because its region or taskgroup was cancelled.
bool gomp_creates_nothing(const Task& current);
ExplicitTask& create_gomp_task(Member& member, const GompBody& body, bool final_task);
void copy_gomp_arguments(Member& member, ExplicitTask& task, const GompBody& body);
std::int32_t gomp_priority(unsigned flags, int priority);

}  // namespace roost::omp
