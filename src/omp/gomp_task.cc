// GCC's entry points: explicit tasks, taskwait, taskgroup (libgomp's ABI, gcc 4.4 to 14).
#include "omp/gomp_task.h"

#include <cstring>

#include "omp/api.h"
#include "omp/export.h"
#include "omp/task_depend.h"
#include "omp/task_pool.h"

namespace roost::omp {

void run_gomp(ExplicitTask& task, Member&) {
  // A task with constructed copies runs even when cancelled: its body destroys them.
  if (!task.must_run && cancellation() && is_cancelled(task)) {
    discard_body(task);
    return;
  }
  ompt::UserCode code;
  reinterpret_cast<void (*)(void*)>(task.function)(task.argument);
}

bool gomp_creates_nothing(const Task& current) { return cancellation() && is_cancelled(current); }

ExplicitTask& create_gomp_task(Member& member, const GompBody& body, bool final_task) {
  std::size_t slack = body.alignment > 64 ? body.alignment : 0;
  ExplicitTask& task = create_task(member, body.bytes + slack);
  task.run = run_gomp;
  task.function = reinterpret_cast<void*>(body.function);
  task.argument = payload(task, body.alignment);
  task.final_ |= final_task;
  return task;
}

void copy_gomp_arguments(Member& member, ExplicitTask& task, const GompBody& body) {
  if (!body.copy) {
    if (body.bytes) std::memcpy(task.argument, body.data, body.bytes);
    return;
  }
  // Constructors see the task they belong to.
  Task* before = member.task;
  member.task = &task;
  body.copy(task.argument, body.data);
  member.task = before;
  task.must_run = true;
}

std::int32_t gomp_priority(unsigned flags, int priority) {
  if (!(flags & kGompPriority) || priority <= 0) return 0;
  std::int32_t most = settings().max_task_priority;
  return priority < most ? priority : most;
}

namespace {

// What a depend clause is in gcc's depobj: two words.
struct GompDependObject {
  const void* address;
  std::uintptr_t kind;
};
enum GompDependKind : std::uintptr_t { kIn = 1, kOut = 2, kInout = 3, kMutex = 4, kInoutset = 5 };

// The array of a depend clause:
//   gcc 4.9 and up   [0] all (not 0)  [1] out, inout      [2...] addresses: those first, then in
//   gcc 9 and up     [0] 0  [1] all  [2] out, inout  [3] mutexinoutset  [4] in
//                    [5...] addresses in this order, then pointers to depend objects
// A null address that is written to stands for omp_all_memory.
class GompDependences final : public Dependences {
 public:
  explicit GompDependences(void** array) {
    auto number = [&](unsigned i) { return reinterpret_cast<std::uintptr_t>(array[i]); };
    if (array[0]) {
      count_ = number(0);
      inout_ = written_ = number(1);
      plain_ = count_;
      items_ = array + 2;
    } else {
      count_ = number(1);
      inout_ = number(2);
      written_ = inout_ + number(3);
      plain_ = written_ + number(4);
      items_ = array + 5;
    }
  }
  std::size_t count() const override { return count_; }
  Dependence at(std::size_t i) const override {
    if (i < plain_) return make(items_[i], i < inout_ ? kInout : i < written_ ? kMutex : kIn);
    auto* object = static_cast<const GompDependObject*>(items_[i]);
    return make(object->address, object->kind);
  }

 private:
  static Dependence make(const void* address, std::uintptr_t kind) {
    switch (kind) {
      case kIn:
        return {address, DependKind::in, false, ompt::DependenceKind::in};
      case kInoutset:
        return {address, DependKind::inoutset, false, ompt::DependenceKind::inoutset};
      case kMutex:
        return {address, DependKind::inout, !address, ompt::DependenceKind::mutexinoutset};
      default:
        return {address, DependKind::inout, !address,
                address ? ompt::DependenceKind::inout : ompt::DependenceKind::inout_all_memory};
    }
  }
  // Numbers of items: all, those with out or inout, those that are written, those without an
  // object.
  std::size_t count_ = 0, inout_ = 0, written_ = 0, plain_ = 0;
  void** items_ = nullptr;
};

void nothing(void*) {}

__attribute__((noinline)) void create_in_full(Member& member, GompBody& body, bool if_clause,
                                              unsigned flags, void** depend, int priority,
                                              void* detach) {
  bool undeferred = !if_clause || member.task->final_;
  // An undeferred task uses its creator's data, unless that is to be copied.
  if (undeferred && !body.copy) body.bytes = 0;
  if (undeferred && flags & kGompDepend) wait_for_dependences(member, GompDependences(depend));
  ExplicitTask& task = create_gomp_task(member, body, flags & kGompFinal);
  task.untied = flags & kGompUntied;
  if (flags & kGompDetach) {
    make_detachable(task);
    void* event = &task;
    *static_cast<void**>(detach) = event;
    if (body.data) *static_cast<void**>(body.data) = event;
  }
  if (undeferred) {
    // Its successors wait for the event. What it waits for itself is over.
    if (flags & kGompDetach && flags & kGompDepend)
      enter_dependences(member, task, GompDependences(depend));
    begin_undeferred(member, task);
    if (body.copy) body.copy(task.argument, body.data);
    {
      ompt::UserCode code;
      body.function(body.copy ? task.argument : body.data);
    }
    end_undeferred(member, task);
    return;
  }
  copy_gomp_arguments(member, task, body);
  task.priority = gomp_priority(flags, priority);
  if (flags & kGompDepend) {
    GompDependences dependences(depend);
    submit_task(member, task, &dependences);
  } else {
    submit_task(member, task);
  }
}

}  // namespace

extern "C" {

// `detach`: where the event goes; the task's data begins with a copy of it.
ROOST_EXPORT void GOMP_task(void (*function)(void*), void* data, void (*copy)(void*, void*),
                            long bytes, long alignment, bool if_clause, unsigned flags,
                            void** depend, int priority, void* detach) {
  ompt::Entry entry;
  Member& member = self();
  constexpr unsigned kSpecial = kGompDepend | kGompPriority | kGompDetach;
  if (gomp_creates_nothing(*member.task)) {
    if (flags & kGompDetach) *static_cast<void**>(detach) = nullptr;
    return;
  }
  bool simple = !copy && !(flags & kSpecial) && !ompt::on();
  // Both use their creator's data.
  if (simple && if_clause && runs_in_place(member)) {
    ExplicitTask& task = begin_in_place(member);
    task.final_ |= (flags & kGompFinal) != 0;
    function(data);
    return end_in_place(member, task);
  }
  if (simple && (!if_clause || member.task->final_)) {
    ExplicitTask& task = begin_undeferred_in_place(member);
    task.final_ |= (flags & kGompFinal) != 0;
    function(data);
    return end_undeferred_in_place(member, task);
  }
  GompBody body{function, data, copy, static_cast<std::size_t>(bytes),
                static_cast<std::size_t>(alignment)};
  create_in_full(member, body, if_clause, flags, depend, priority, detach);
}

ROOST_EXPORT void GOMP_taskwait() {
  ompt::Entry entry;
  wait_for_children(self());
}

ROOST_EXPORT void GOMP_taskwait_depend(void** depend) {
  ompt::Entry entry;
  Member& member = self();
  if (gomp_creates_nothing(*member.task)) return;
  taskwait_for(member, GompDependences(depend));
}

// Since gcc 13: an empty task with the dependences.
ROOST_EXPORT void GOMP_taskwait_depend_nowait(void** depend) {
  GOMP_task(nothing, nullptr, nullptr, 0, 1, true, kGompDepend, depend, 0, nullptr);
}

ROOST_EXPORT void GOMP_taskyield() {
  ompt::Entry entry;
  yield_task(self());
}

ROOST_EXPORT void GOMP_taskgroup_start() {
  ompt::Entry entry;
  begin_taskgroup(self());
}
ROOST_EXPORT void GOMP_taskgroup_end() {
  ompt::Entry entry;
  end_taskgroup(self());
}

// Both compilers' events are the tasks themselves; null is that of a task that was not created, as
// its taskgroup or region was cancelled. Any thread, also one that is no OpenMP thread.
ROOST_EXPORT void omp_fulfill_event(std::uintptr_t event) {
  if (event) fulfill(*reinterpret_cast<ExplicitTask*>(event));
}

}  // extern "C"
}  // namespace roost::omp
