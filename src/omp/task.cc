// The life of explicit tasks: created, executed, complete, gone.
#include "omp/task.h"

#include <new>

#include "base/ticks.h"
#include "omp/task_depend.h"
#include "omp/task_memory.h"
#include "omp/task_pool.h"

namespace roost::omp {
namespace {

// A tree of tasks below the implicit task is complete, and was the last one.
void last_tree_of(Team& team) {
  // [task-1] What the tasks did is visible to who sees zero.
  if (team.unfinished.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  team.barrier.gates.wake_all();
  team.done.wake_all();
}

// The record's own count and all below are gone: tells those above. `complete`: the task is
// complete only now, else its parent has been told before.
void drop_record(ExplicitTask* task, bool complete) {
  for (;;) {
    Task* parent = task->parent;
    Team& team = *task->team;
    // The parent's record is here as long as this one is counted. Groups are not looked at again.
    bool group_over =
        task->in_group_directly && task->group->trees.fetch_sub(1, std::memory_order_seq_cst) == 1;
    unsigned memory_class = task->memory_class;
    if (memory_class != ExplicitTask::kKept) give_memory(MemoryFor::tasks, memory_class, task);
    std::uint64_t less = complete ? Task::kRecord | Task::kChild : Task::kRecord;
    std::uint64_t left = parent->counts.fetch_sub(less, std::memory_order_seq_cst) - less;
    // Those who wait in the parent may be gone, but not its record's memory: at worst they are
    // woken in vain.
    if (group_over || (complete && !Task::children_in(left))) {
      parent->childless.wake_all();
    }
    if (Task::records_in(left)) return;
    if (parent->implicit) {
      last_tree_of(team);
      return;
    }
    task = static_cast<ExplicitTask*>(parent);
    complete = false;
  }
}

// Its body is over and its event fulfilled.
void complete_task(ExplicitTask& task, Member* executor) {
  if (task.node) release_dependents(task, executor);
  // [task-2] Nobody else can add to the counts of a task whose body is over; who takes away the
  // record of its last child has told what that did.
  if (Task::records_in(task.counts.load(std::memory_order_acquire)) == 1) {
    drop_record(&task, true);
    return;
  }
  Task* parent = task.parent;
  std::uint64_t left = parent->counts.fetch_sub(Task::kChild, std::memory_order_seq_cst) - 1;
  if (!Task::children_in(left)) parent->childless.wake_all();
  if (Task::records_in(task.counts.fetch_sub(Task::kRecord, std::memory_order_acq_rel)) == 1)
    drop_record(&task, false);
}

// For those who wait: for their children, in a taskgroup, for all tasks of the team; and for who
// uses the record again.
void tell_sanitizers_of_end(ExplicitTask& task) {
  ult::happens_before(task.parent);
  if (task.group) ult::happens_before(task.group);
  ult::happens_before(&task.team->done);
  ult::happens_before(&task);
}

void body_is_over(ExplicitTask& task, Member& member) {
  if (ult::sanitizer::present()) tell_sanitizers_of_end(task);
  if (__builtin_expect(task.depends != nullptr, 0)) forget_dependences(task);
  if (__builtin_expect(task.detachable, 0) &&
      task.holds.fetch_sub(1, std::memory_order_seq_cst) != 1) {
    return;
  }
  complete_task(task, &member);
}

// From here on others wait for it.
void count_task(ExplicitTask& task) {
  if (!tasks_in_use.load(std::memory_order_relaxed))
    tasks_in_use.store(true, std::memory_order_relaxed);
  Task& parent = *task.parent;
  std::uint64_t before =
      parent.counts.fetch_add(Task::kRecord | Task::kChild, std::memory_order_relaxed);
  if (parent.implicit && !Task::records_in(before))
    task.team->unfinished.fetch_add(1, std::memory_order_relaxed);
  if (task.group && task.group->opener == &parent) {
    task.in_group_directly = true;
    task.group->trees.fetch_add(1, std::memory_order_relaxed);
  }
}

// Of a task without event and dependences whose creator was suspended meanwhile: if nothing is left
// of it, others need never know.
void uncounted_body_is_over(ExplicitTask& task, Member& member) {
  if (ult::sanitizer::present()) tell_sanitizers_of_end(task);
  if (__builtin_expect(task.depends != nullptr, 0)) forget_dependences(task);
  if (Task::records_in(task.counts.load(std::memory_order_acquire)) == 1) {  // [task-2]
    discard_task(task);
    return;
  }
  count_task(task);
  complete_task(task, &member);
}

// Its creation, and what it depends on.
void see_what_came_before(ExplicitTask& task) {
  ult::happens_after(&task);
  if (task.node) ult::happens_after(task.parent);
}

// The task's body, as the member's current task.
void run_body(Member& member, ExplicitTask& task) {
  Task* before = member.task;
  ompt::task_begins(member, task);
  member.task = &task;
  task.run(task, member);
  ompt::task_ends(member, task);
  member.task = before;
}

}  // namespace

void* payload(ExplicitTask& task, std::size_t alignment) {
  auto address = reinterpret_cast<std::uintptr_t>(&task) + kPayload;
  if (alignment > 64) address = (address + alignment - 1) & ~(alignment - 1);
  return reinterpret_cast<void*>(address);
}

ExplicitTask& create_task(Member& member, std::size_t bytes) {
  unsigned index = size_class(kPayload + bytes);
  auto& task = *static_cast<ExplicitTask*>(take_memory(MemoryFor::tasks, index));
  ult::happens_after(&task);
  Task& parent = *member.task;
  // Not constructed anew: somebody may be late to wake the last task's list, and thieves may look.
  task.icvs = parent.icvs;
  task.team = member.team;
  task.parent = &parent;
  task.group = parent.group;
  task.depends = nullptr;
  task.counts.store(Task::kRecord, std::memory_order_relaxed);
  task.depth = parent.depth + 1;
  task.implicit = false;
  task.final_ = parent.final_;
  task.undeferred = false;
  task.run = nullptr;
  task.node = nullptr;
  task.holds.store(1, std::memory_order_relaxed);
  task.priority = 0;
  task.memory_class = static_cast<std::uint8_t>(index);
  task.in_group_directly = false;
  task.detachable = false;
  task.must_run = false;
  task.again = false;
  task.abi_flags = 0;
  task.untied = false;
  task.locks_as_member = false;
  return task;
}

void discard_task(ExplicitTask& task) { give_memory(MemoryFor::tasks, task.memory_class, &task); }

void execute_task(Member& member, ExplicitTask& task) {
  see_what_came_before(task);
  run_body(member, task);
  body_is_over(task, member);
}

std::uint64_t execute_stolen_task(Member& member, ExplicitTask& task) {
  see_what_came_before(task);
  std::uint64_t began = ticks();
  run_body(member, task);
  std::uint64_t body = ticks() - began;
  body_is_over(task, member);
  return body;
}

void submit_task(Member& member, ExplicitTask& task, const Dependences* dependences) {
  TaskDeque& deque = deque_of(member);
  // Outside of regions no barrier would come for those that a priority makes wait.
  bool at_once = runs_in_place(member) && (!task.priority || member.team->level == 0);
  bool counted = dependences || task.detachable || !at_once;
  ompt::task_created(member, task, dependences, !counted);
  if (counted) {
    count_task(task);
    ult::happens_before(&task);
    if (dependences && !enter_dependences(member, task, *dependences)) return;
    if (!at_once && queue_task(member, task)) return;
    ++deque.inlined;
    execute_task(member, task);
    --deque.inlined;
    return;
  }
  ++deque.inlined;
  run_body(member, task);
  if (--deque.inlined == 0) deque.grain.executed();
  uncounted_body_is_over(task, member);
}

ExplicitTask& make_spare(Member& member) { return create_task(member, 0); }

void end_in_place_slowly(Member& member, ExplicitTask& task) {
  uncounted_body_is_over(task, member);
}

void run_undeferred(Member& member, ExplicitTask& task) {
  begin_undeferred(member, task);
  task.run(task, member);
  end_undeferred(member, task);
}

void begin_undeferred(Member& member, ExplicitTask& task) {
  task.undeferred = true;
  ompt::task_created(member, task, nullptr, true);
  if (task.detachable) count_task(task);
  ompt::task_begins(member, task);
  member.task = &task;
}

void end_undeferred(Member& member, ExplicitTask& task) {
  ompt::task_ends(member, task);
  member.task = task.parent;
  if (task.detachable) {
    // Its creator goes on when its body is over, and may be who fulfills the event.
    body_is_over(task, member);
  } else {
    uncounted_body_is_over(task, member);
  }
}

// Its body may have been what hands the event to who fulfills it. But who has created the task has
// it, too, and may fulfill it at any time later: so the record's memory stays as it is.
void discard_body(ExplicitTask& task) {
  ompt::discarded(task);
  if (!task.detachable) return;
  task.memory_class = ExplicitTask::kKept;
  task.holds.store(1, std::memory_order_seq_cst);  // for the body, or who fulfills it meanwhile
}

void make_detachable(ExplicitTask& task) {
  task.detachable = true;
  task.holds.store(2, std::memory_order_relaxed);
}

void fulfill(ExplicitTask& task) {
  if (ult::sanitizer::present()) tell_sanitizers_of_end(task);
  ompt::task_fulfilled(task, task.holds.load(std::memory_order_relaxed) > 1);
  // [task-3] What was done before it was fulfilled is visible to who sees the task complete.
  if (task.holds.fetch_sub(1, std::memory_order_seq_cst) == 1) complete_task(task, nullptr);
}

void wait_for_children(Member& member) {
  Task& task = *member.task;
  ompt::SyncRegion region(member, ompt::Sync::taskwait);
  wait_in_task(member,
               [&] { return !Task::children_in(task.counts.load(std::memory_order_seq_cst)); });
  if (task.depends) forget_dependences(task);
}

void yield_task(Member& member) {
  TaskDeque& deque = deque_of(member);
  ompt::taskyield(member, true);
  bool ran = run_task_below(member);
  ompt::taskyield(member, false);
  if (ran) {
    deque.yields = 0;
    return;
  }
  // To give the core away costs a time slice where others want it, and a task that yields rarely
  // means that; but what it spins for may need the core.
  constexpr std::uint32_t kGiveAwayEvery = 64;
  if (ult::has_other_work(*ult::here.carrier, nullptr) || ++deque.yields % kGiveAwayEvery == 0)
    ult::yield();
}

// ---- Taskgroups ---------------------------------------------------------------------------------

TaskGroup& begin_taskgroup(Member& member) {
  Task& task = *member.task;
  ompt::taskgroup_begins(member);
  auto* group = take_others<TaskGroup>();
  new (group) TaskGroup;
  group->outer = task.group;
  group->opener = &task;
  if (task.group) group->gomp_reductions = task.group->gomp_reductions;
  task.group = group;
  return *group;
}

void end_taskgroup(Member& member) {
  Task& task = *member.task;
  TaskGroup* group = task.group;
  ompt::SyncRegion region(member, ompt::Sync::taskgroup);
  wait_in_task(member, [&] { return !group->trees.load(std::memory_order_seq_cst); });
  ult::happens_after(group);
  task.group = group->outer;
  give_others(group, sizeof *group);
}

}  // namespace roost::omp
