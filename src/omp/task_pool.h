// Explicit tasks that wait to be executed: a deque for each member, and a queue the team shares.
#pragma once

#include "omp/deque.h"
#include "omp/icv.h"
#include "omp/task.h"
#include "omp/task_grain.h"
#include "omp/team.h"
#include "ult/spin_lock.h"

namespace roost::omp {

// Whether the process has ever created an explicit task: workers that are done with their part of a
// region then stay to help with its tasks, as they do when a region runs for the first time.
extern constinit std::atomic<bool> tasks_in_use;

// Executes one task of the member's team as that member: its own oldest, or another's. False if
// there is none it may execute now. Where the member holds nothing but what others may wait for: in
// a barrier, or at the end of the region. Tasks run in the order they were created in there, as in
// libgomp: programs create those side by side that use the same data.
bool run_task(Member& member);
// The same in the middle of a task: its own newest, or another's oldest, and only tasks below the
// current one (the task scheduling constraint; and stacks grow no deeper than the tree of tasks).
bool run_task_below(Member& member);

// Tasks a member keeps queued; beyond, it executes new ones at once.
inline constexpr unsigned kQueuedTasks = 512;

struct TaskDeque {
  Deque<RealWorld, ExplicitTask, kQueuedTasks> tasks;
  TaskGrain grain;
  StolenTasks stolen;
  std::uint32_t random = 1;
  std::uint32_t victim = 0;       // where it last found something
  std::uint32_t misses = 0;       // looks at some of the others that found nothing
  std::uint32_t inlined = 0;      // new tasks in execution at once, on top of each other
  std::uint32_t yields = 0;       // taskyields in a row that found nothing
  ExplicitTask* spare = nullptr;  // records for the next of those, all but ready; by `next`
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

// ---- Tasks that are executed where they are created ---------------------------------------------
//
// Nobody but its creator, who waits for it, knows of such a task: it is counted only if it leaves
// others behind. So it costs a few stores.

// Tasks on top of each other: beyond, they are queued if they can be, as stacks have an end.
inline constexpr std::uint32_t kDeepestInline = 200;

// Whether the member executes a new task without dependences, event and priority at once: where
// others have enough to do, or would take longer to fetch the task than to execute it. A team of
// one gains nothing by queues; outside regions nobody might come to look at them.
inline bool runs_in_place(Member& member) {
  TaskDeque* deque = member.deque;
  if (!deque) return false;
  const Team& team = *member.team;
  if (team.size == 1) return !team.level || deque->inlined < kDeepestInline;
  // Not on top of another one: what that creates is queued, and others can help with it.
  bool at_once = deque->tasks.full() || (!deque->inlined && deque->grain.fine(team.size));
  return at_once && settings().task_throttling;
}

// Where there is no spare record; and the end of a task that cannot be used again as it is.
ExplicitTask& make_spare(Member& member);
void end_in_place_slowly(Member& member, ExplicitTask& task);

// A new task, the member's current one.
inline ExplicitTask& take_spare(Member& member) {
  TaskDeque& deque = member.deque ? *member.deque : deque_of(member);
  ExplicitTask* task = deque.spare;
  if (__builtin_expect(task != nullptr, 1)) {
    deque.spare = task->next;
  } else {
    task = &make_spare(member);
  }
  Task& parent = *member.task;
  task->icvs = parent.icvs;
  task->parent = &parent;
  task->group = parent.group;
  task->depth = parent.depth + 1;
  task->final_ = parent.final_;
  member.task = task;
  return *task;
}
// Its end.
inline void give_spare(Member& member, ExplicitTask& task) {
  TaskDeque& deque = *member.deque;
  member.task = task.parent;
  // [task-2] in omp/task.cc.
  bool clean = !task.depends && task.counts.load(std::memory_order_acquire) == Task::kRecord;
  if (__builtin_expect(clean, 1)) {
    task.next = deque.spare;
    deque.spare = &task;
  } else {
    end_in_place_slowly(member, task);
  }
}

// Where runs_in_place(member).
inline ExplicitTask& begin_in_place(Member& member) {
  ++member.deque->inlined;
  return take_spare(member);
}
inline void end_in_place(Member& member, ExplicitTask& task) {
  TaskDeque& deque = *member.deque;
  if (--deque.inlined == 0) deque.grain.executed();
  give_spare(member, task);
}

// The same for a task that its creator waits for in any case.
inline ExplicitTask& begin_undeferred_in_place(Member& member) {
  ExplicitTask& task = take_spare(member);
  task.undeferred = true;
  return task;
}
inline void end_undeferred_in_place(Member& member, ExplicitTask& task) {
  task.undeferred = false;
  give_spare(member, task);
}

// Where a member waits for tasks, and at the beginning of a region.
inline void end_row_of_tasks(Member& member) {
  if (member.deque) member.deque->grain.begin_row();
}

template <class Ready>
void wait_in_task(Member& member, Ready&& ready) {
  Team& team = *member.team;
  end_row_of_tasks(member);
  if (!ready()) {
    ult::wait_until(member.task->childless, {.under = &team, .pieces = false}, ready,
                    [&] { return run_task_below(member); });
  }
  ult::happens_after(member.task);
}

}  // namespace roost::omp
