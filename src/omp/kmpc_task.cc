// LLVM's entry points: explicit tasks, taskwait, taskgroup (clang 14 to 19).
#include "omp/kmpc_task.h"

#include "omp/export.h"
#include "omp/task_pool.h"

namespace roost::omp {
namespace {

// kmp_depend_info's flags; out is set for inout too.
enum : std::uint8_t { kIn = 1, kOut = 2, kMutex = 4, kInoutset = 8, kAllMemory = 0x80 };

constexpr std::intptr_t kAllAddresses = -1;

class KmpDependences final : public Dependences {
 public:
  KmpDependences(std::int32_t count, const KmpDependInfo* list, std::int32_t more_count,
                 const KmpDependInfo* more)
      : list_(list),
        more_(more),
        count_(list && count > 0 ? static_cast<std::size_t>(count) : 0),
        more_count_(more && more_count > 0 ? static_cast<std::size_t>(more_count) : 0) {}
  std::size_t count() const override { return count_ + more_count_; }
  Dependence at(std::size_t i) const override {
    const KmpDependInfo& info = i < count_ ? list_[i] : more_[i - count_];
    Dependence dependence;
    dependence.address = reinterpret_cast<const void*>(info.address);
    // Compilers write it in either of two ways, and neither tells out from inout.
    if (info.flags & kAllMemory || info.address == kAllAddresses) {
      dependence.all_memory = true;
      dependence.address = nullptr;
      dependence.said = ompt::DependenceKind::out_all_memory;
    } else if (info.flags & kInoutset) {
      dependence.kind = DependKind::inoutset;
      dependence.said = ompt::DependenceKind::inoutset;
    } else if (!(info.flags & (kOut | kMutex))) {
      dependence.kind = DependKind::in;
      dependence.said = ompt::DependenceKind::in;
    } else if (info.flags & kMutex) {
      dependence.said = ompt::DependenceKind::mutexinoutset;
    }
    return dependence;
  }

 private:
  const KmpDependInfo* list_;
  const KmpDependInfo* more_;
  std::size_t count_, more_count_;
};

void run_kmp(ExplicitTask& record, Member& member) {
  KmpTask* task = kmp_task_of(record);
  if (cancellation() && is_cancelled(record)) {
    discard_body(record);
  } else if (task->routine) {  // else taskwait with depend and nowait
    ompt::UserCode code;
    // An untied task hands itself over before each of its parts but the first, and returns. It goes
    // on here: untied tasks need not change threads.
    do {
      record.again = false;
      task->routine(member.gtid, task);
    } while (record.again);
  }
  if (record.abi_flags & kKmpDestructors) task->destructors(member.gtid, task);
}

}  // namespace

KmpTask* create_kmp_task(Member& member, std::int32_t flags, std::size_t bytes,
                         std::size_t shared_bytes, KmpRoutine routine) {
  bytes = (bytes + 7) & ~std::size_t{7};
  ExplicitTask& record = create_task(member, bytes + shared_bytes);
  record.run = run_kmp;
  record.final_ |= (flags & kKmpFinal) != 0;
  record.abi_flags = static_cast<std::uint8_t>(flags);
  record.untied = !(flags & kKmpTied);
  record.locks_as_member = true;
  if (flags & kKmpDetachable) make_detachable(record);
  KmpTask* task = kmp_task_of(record);
  task->shared = shared_bytes ? reinterpret_cast<char*>(task) + bytes : nullptr;
  task->routine = routine;
  task->part = 0;
  return task;
}

void submit_kmp_task(Member& member, KmpTask* task, const Dependences* dependences) {
  ExplicitTask& record = record_of(task);
  if (&record == member.task) {
    record.again = true;  // the next part of an untied task
    return;
  }
  if (record.abi_flags & kKmpPriority) {
    std::int32_t most = settings().max_task_priority;
    record.priority = task->priority < most ? task->priority : most;
  }
  if (member.task->final_) {
    if (dependences) wait_for_dependences(member, *dependences);
    run_undeferred(member, record);
  } else {
    submit_task(member, record, dependences);
  }
}

extern "C" {

ROOST_EXPORT KmpTask* __kmpc_omp_task_alloc(Ident*, std::int32_t, std::int32_t flags,
                                            std::size_t bytes, std::size_t shared_bytes,
                                            KmpRoutine routine) {
  return create_kmp_task(self(), flags, bytes, shared_bytes, routine);
}
// Of a target construct with nowait: the host does what the device would.
ROOST_EXPORT KmpTask* __kmpc_omp_target_task_alloc(Ident*, std::int32_t, std::int32_t flags,
                                                   std::size_t bytes, std::size_t shared_bytes,
                                                   KmpRoutine routine, std::int64_t) {
  return create_kmp_task(self(), flags, bytes, shared_bytes, routine);
}

// The results say whether a task was queued; compilers do not ask.
ROOST_EXPORT std::int32_t __kmpc_omp_task(Ident*, std::int32_t, KmpTask* task) {
  ompt::Entry entry;
  submit_kmp_task(self(), task);
  return 0;
}
ROOST_EXPORT std::int32_t __kmpc_omp_task_parts(Ident*, std::int32_t, KmpTask* task) {
  ompt::Entry entry;
  submit_kmp_task(self(), task);
  return 0;
}
ROOST_EXPORT std::int32_t __kmpc_omp_task_with_deps(Ident*, std::int32_t, KmpTask* task,
                                                    std::int32_t count, KmpDependInfo* list,
                                                    std::int32_t more_count, KmpDependInfo* more) {
  ompt::Entry entry;
  KmpDependences dependences(count, list, more_count, more);
  submit_kmp_task(self(), task, dependences.count() ? &dependences : nullptr);
  return 0;
}

// Before an undeferred task, and taskwait with depend.
ROOST_EXPORT void __kmpc_omp_wait_deps(Ident*, std::int32_t, std::int32_t count,
                                       KmpDependInfo* list, std::int32_t more_count,
                                       KmpDependInfo* more) {
  ompt::Entry entry;
  wait_for_dependences(self(), KmpDependences(count, list, more_count, more));
}
// Since clang 16. With nowait: an empty task with the dependences.
ROOST_EXPORT void __kmpc_omp_taskwait_deps_51(Ident*, std::int32_t, std::int32_t count,
                                              KmpDependInfo* list, std::int32_t more_count,
                                              KmpDependInfo* more, std::int32_t nowait) {
  ompt::Entry entry;
  Member& member = self();
  KmpDependences dependences(count, list, more_count, more);
  if (!nowait) {
    taskwait_for(member, dependences);
    return;
  }
  submit_kmp_task(member, create_kmp_task(member, kKmpTied, sizeof(KmpTask), 0, nullptr),
                  &dependences);
}

// Around the body of an undeferred task, which the caller executes.
ROOST_EXPORT void __kmpc_omp_task_begin_if0(Ident*, std::int32_t, KmpTask* task) {
  ompt::Entry entry;
  begin_undeferred(self(), record_of(task));
  entry.stay();
}
ROOST_EXPORT void __kmpc_omp_task_complete_if0(Ident*, std::int32_t gtid, KmpTask* task) {
  ompt::Entry entry;
  Member& member = self();
  ExplicitTask& record = record_of(task);
  while (record.again) {
    record.again = false;
    task->routine(gtid, task);
  }
  if (record.abi_flags & kKmpDestructors) task->destructors(gtid, task);
  end_undeferred(member, record);
  entry.left(*member.task);
}

ROOST_EXPORT std::int32_t __kmpc_omp_taskwait(Ident*, std::int32_t) {
  ompt::Entry entry;
  wait_for_children(self());
  return 0;
}
ROOST_EXPORT std::int32_t __kmpc_omp_taskyield(Ident*, std::int32_t, int) {
  ompt::Entry entry;
  yield_task(self());
  return 0;
}

ROOST_EXPORT void __kmpc_taskgroup(Ident*, std::int32_t) {
  ompt::Entry entry;
  begin_taskgroup(self());
}

// The event is the task itself, as in gcc's ABI: omp_fulfill_event() takes both.
ROOST_EXPORT void* __kmpc_task_allow_completion_event(Ident*, std::int32_t, KmpTask* task) {
  ExplicitTask& record = record_of(task);
  if (!record.detachable) make_detachable(record);
  return &record;
}

// Affinity of tasks is a hint.
ROOST_EXPORT std::int32_t __kmpc_omp_reg_task_with_affinity(Ident*, std::int32_t, KmpTask*,
                                                            std::int32_t, void*) {
  return 0;
}

}  // extern "C"
}  // namespace roost::omp
