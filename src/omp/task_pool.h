// Explicit tasks that wait to be executed: a deque for each member, and a queue the team shares.
#pragma once

#include "omp/deque.h"
#include "omp/task.h"
#include "omp/team.h"
#include "ult/spin_lock.h"

namespace roost::omp {

// Whether the process has ever created an explicit task: workers that are done with their part of a
// region then stay to help with its tasks.
extern constinit std::atomic<bool> tasks_in_use;

// Executes one task of the member's team as that member: its own newest, or another's oldest. False
// if there is none it may execute now. Where the member holds nothing but what others may wait for:
// in a barrier, or at the end of the region.
bool run_task(Member& member);
// The same in the middle of a task: only tasks below the current one (the task scheduling
// constraint; and stacks grow no deeper than the tree of tasks).
bool run_task_below(Member& member);

// Tasks a member keeps queued; beyond, it executes new ones at once.
inline constexpr unsigned kQueuedTasks = 512;

struct TaskDeque {
  Deque<RealWorld, ExplicitTask, kQueuedTasks> tasks;
  std::uint32_t random = 1;
  std::uint32_t victim = 0;   // where it last found something
  std::uint32_t misses = 0;   // looks at some of the others that found nothing
  std::uint32_t inlined = 0;  // new tasks in execution at once, on top of each other
};

// What members share: tasks with a priority, and those that were made ready by no member at work.
struct TaskPool {
  ult::SpinLock lock;
  std::atomic<std::uint32_t> queued{0};
  ExplicitTask* first = nullptr;  // by priority, then by age
  ExplicitTask* last = nullptr;
  // Of the region and of a worksharing construct, with LLVM's task modifier
  // (omp/kmpc_reduction.cc).
  struct SharedReduction* reductions[2] = {};
};
TaskPool& pool_of(Team& team);

// Queues a task. False if there is no room: the caller executes it. By the member itself.
bool queue_task(Member& member, ExplicitTask& task);
// Queues a task for whoever may execute it, and wakes those. Any thread.
void queue_for_all(ExplicitTask& task);

TaskDeque& deque_of(Member& member);

template <class Ready>
void wait_in_task(Member& member, Ready&& ready) {
  if (ready()) return;
  Team& team = *member.team;
  ult::wait_until(member.task->childless, {.under = &team, .pieces = false}, ready,
                  [&] { return run_task_below(member); });
}

}  // namespace roost::omp
