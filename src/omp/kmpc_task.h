// LLVM's tasks, as clang lays them out.
#pragma once

#include <cstdint>

#include "omp/kmpc.h"
#include "omp/task_depend.h"
#include "omp/team.h"

namespace roost::omp {

struct KmpTask;
using KmpRoutine = std::int32_t (*)(std::int32_t gtid, KmpTask* task);

// What the compiler knows of a task (kmp_task_t). Private variables follow, then, where
// __kmpc_omp_task_alloc puts them, pointers to shared ones.
struct KmpTask {
  void* shared;
  KmpRoutine routine;
  std::int32_t part;  // of an untied task: where it goes on
  union {
    KmpRoutine destructors;
    std::int32_t unused;
  };
  union {
    std::int32_t priority;
    KmpRoutine unused_2;
  };
};
static_assert(sizeof(KmpTask) == 40);

// __kmpc_omp_task_alloc's flags, kept in ExplicitTask::abi_flags.
inline constexpr std::int32_t kKmpTied = 1;
inline constexpr std::int32_t kKmpFinal = 2;
inline constexpr std::int32_t kKmpDestructors = 8;
inline constexpr std::int32_t kKmpPriority = 32;
inline constexpr std::int32_t kKmpDetachable = 64;

// The record stands at a fixed distance before.
inline ExplicitTask& record_of(KmpTask* task) {
  return *reinterpret_cast<ExplicitTask*>(reinterpret_cast<char*>(task) - kPayload);
}
inline KmpTask* kmp_task_of(ExplicitTask& task) {
  return reinterpret_cast<KmpTask*>(reinterpret_cast<char*>(&task) + kPayload);
}

// `bytes`: of the task and its private variables; `shared_bytes` follow.
KmpTask* create_kmp_task(Member& member, std::int32_t flags, std::size_t bytes,
                         std::size_t shared_bytes, KmpRoutine routine);
// Hands a created task over.
void submit_kmp_task(Member& member, KmpTask* task, const Dependences* dependences = nullptr);

// An item of a depend clause (kmp_depend_info).
struct KmpDependInfo {
  std::intptr_t address;
  std::size_t bytes;
  std::uint8_t flags;
};

}  // namespace roost::omp
