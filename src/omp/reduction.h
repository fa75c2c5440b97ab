// Reductions: of the members of a team, and of tasks within a construct.
#pragma once

#include <atomic>
#include <cstdint>

namespace roost::omp {

enum class ReductionMethod : std::uint8_t { none, critical, atomic, tree };

// A member's part in a reduction that its team does as a tree (omp/kmpc_reduce.cc).
struct ReductionState {
  static constexpr unsigned kLevels = 6;  // kFanIn^6 members are more than a team may have
  void* data = nullptr;                   // of the members below it, once combined
  ReductionMethod method = ReductionMethod::none;
  // Arrivals at the nodes this member's number leads, by level; zero between reductions.
  std::atomic<std::uint32_t> arrived[kLevels] = {};
};

// Task reductions of a worksharing construct (reduction(task, ...)): opens a taskgroup in the
// caller's implicit task and registers `data`, a description as GOMP_taskgroup_reduction_register
// takes it. `first`: what the first member of the team to come here has registered, whose private
// copies all use; null if the caller is the first. Ended by
// GOMP_workshare_task_reduction_unregister.
void register_task_reductions(std::uintptr_t* data, const std::uintptr_t* first);

}  // namespace roost::omp
