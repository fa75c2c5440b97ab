// Events of explicit tasks.
#include "omp/ompt_callbacks.h"
#include "omp/task_depend.h"
#include "omp/task_memory.h"

namespace roost::omp::ompt {
namespace {

void tell_schedule(Data* prior, TaskStatus status, Data* next) {
  if (auto tell = callback<TaskSchedule>(Event::task_schedule)) tell(prior, status, next);
}

void tell_created(Member& member, Data& task, int flags, bool dependences) {
  if (auto tell = callback<TaskCreate>(Event::task_create))
    tell(task_of(member), &member.task->tool.frame, &task, flags, dependences, member.tool.code);
}

void tell_dependences(Data& task, const omp::Dependences& dependences) {
  tell_dependences(task, dependences.count(), [&](std::size_t i) {
    omp::Dependence item = dependences.at(i);
    return Dependence{{.ptr = const_cast<void*>(item.address)}, item.said};
  });
}

}  // namespace

namespace slow {

void task_created(Member& member, ExplicitTask& task, const omp::Dependences* dependences,
                  bool undeferred) {
  task.tool = {};
  task.tool.chunk = member.tool.next_chunk;
  member.tool.next_chunk = {};
  task.undeferred |= undeferred;
  tell_created(member, task.tool.data, flags_of(task), dependences != nullptr);
  if (dependences) tell_dependences(task.tool.data, *dependences);
}

void task_begins(Member& member, ExplicitTask& task) {
  DispatchChunk chunk = task.tool.chunk;
  task.tool.frame = {};
  task.tool.below = member.task;
  task.outer_state =
      static_cast<std::uint8_t>(member.tool.state);  // at work, or waiting: below 256
  TaskStatus status = member.tool.yields ? TaskStatus::yield : TaskStatus::switched;
  member.tool.yields = false;
  member.tool.state = working(*member.team);
  tell_schedule(task_of(member), status, &task.tool.data);
  if (chunk.iterations) tell_chunk(member, task.tool.data, Dispatch::taskloop_chunk, chunk);
}

void task_ends(Member& member, ExplicitTask& task) {
  TaskStatus status = TaskStatus::complete;
  if (task.detachable && task.holds.load(std::memory_order_relaxed) > 1) {
    status = TaskStatus::detach;
  } else if (cancellation() && is_cancelled(task)) {
    status = TaskStatus::cancel;
  }
  tell_schedule(&task.tool.data, status, &task.tool.below->tool.data);
  member.tool.state = static_cast<State>(task.outer_state);
}

void task_fulfilled(ExplicitTask& task, bool early) {
  tell_schedule(&task.tool.data, early ? TaskStatus::early_fulfill : TaskStatus::late_fulfill,
                nullptr);
}

void discarded(ExplicitTask& task) {
  bool region = region_cancelled(*task.team);
  if (auto tell = callback<Cancel>(Event::cancel))
    tell(&task.tool.data, kCancelDiscardedTask | (region ? kCancelsParallel : kCancelsTaskgroup),
         nullptr);
}

void depends(Task& earlier, Task& later) {
  if (auto tell = callback<TaskDependence>(Event::task_dependence))
    tell(&earlier.tool.data, &later.tool.data);
}

void taskyield(Member& member, bool begins) { member.tool.yields = begins; }

}  // namespace slow

void TaskwaitTask::begin(Member& member, const omp::Dependences& dependences) {
  member_ = &member;
  data_ = {};
  tell_created(member, data_, kTaskwaitTask | kUndeferred | kMergeable, true);
  tell_dependences(data_, dependences);
}

void TaskwaitTask::end() { tell_schedule(&data_, TaskStatus::taskwait_complete, nullptr); }

}  // namespace roost::omp::ompt
