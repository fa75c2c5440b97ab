// Cancelling regions, loops, sections and taskgroups.
#include "omp/task_cancel.h"

namespace roost::omp {

void cancel_construct(Member& member, std::uint32_t construct) {
  Team& team = *member.team;
  team.cancelled.fetch_or(construct, std::memory_order_seq_cst);
  // [cancel-1] Members in barriers go on; queued tasks are passed over by who takes them.
  if (construct == kCancelParallel) team.barrier.gates.wake_all();
}

bool construct_cancelled(const Member& member, std::uint32_t construct) {
  return member.team->cancelled.load(std::memory_order_relaxed) & construct;
}

void cancel_taskgroup(Member& member) {
  TaskGroup* group = member.task->group;
  if (!group) return;
  if (group->workshare && group->outer) group = group->outer;
  group->cancelled.store(true, std::memory_order_relaxed);
}

constinit std::atomic<int> known_cancellation{-1};

bool ask_for_cancellation() {
  bool set = settings().cancellation;
  known_cancellation.store(set, std::memory_order_relaxed);
  return set;
}

bool is_cancelled(const Task& task) {
  if (task.team->cancelled.load(std::memory_order_relaxed) & kCancelParallel) return true;
  const TaskGroup* group = task.group;
  if (!group) return false;
  if (group->cancelled.load(std::memory_order_relaxed)) return true;
  return group->workshare && group->outer &&
         group->outer->cancelled.load(std::memory_order_relaxed);
}

}  // namespace roost::omp
