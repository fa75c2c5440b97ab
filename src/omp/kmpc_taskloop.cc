// LLVM's entry points: taskloop.
#include <cstring>

#include "omp/export.h"
#include "omp/kmpc_task.h"
#include "omp/task_memory.h"
#include "omp/task_pool.h"

namespace roost::omp {
namespace {

// Copies what needs constructors, after the rest was copied; the last task's lastprivate variables
// are those the program sees.
using Duplicate = void (*)(KmpTask* to, KmpTask* from, std::int32_t last);

enum class Chunks : std::int32_t { unspecified = 0, grainsize = 1, num_tasks = 2 };

struct Cut {
  std::uint64_t tasks, each, longer, last;  // as in gomp_taskloop.cc
};

Cut cut(std::uint64_t n, Chunks chunks, std::uint64_t wanted, bool strict, unsigned members) {
  // Unspecified: enough for members that are not equally fast.
  constexpr std::uint64_t kPerMember = 10;
  std::uint64_t tasks = wanted ? wanted : 1;
  if (chunks == Chunks::unspecified) tasks = members * kPerMember;
  if (chunks == Chunks::grainsize) {
    std::uint64_t grain = tasks;
    if (strict) return {n / grain + (n % grain != 0), grain, 0, n % grain};
    tasks = n / grain ? n / grain : 1;
  }
  if (tasks > n) tasks = n;
  return {tasks, n / tasks, n % tasks, 0};
}

// A copy of the pattern the compiler filled in. What lies in the task itself moves with it.
KmpTask* copy_of(Member& member, KmpTask* pattern) {
  ExplicitTask& from = record_of(pattern);
  std::size_t bytes = class_bytes(from.memory_class) - kPayload;
  ExplicitTask& record = create_task(member, bytes);
  record.run = from.run;
  record.final_ = from.final_;
  record.abi_flags = from.abi_flags;
  record.untied = from.untied;
  record.locks_as_member = from.locks_as_member;
  KmpTask* task = kmp_task_of(record);
  std::memcpy(static_cast<void*>(task), pattern, bytes);
  if (pattern->shared) {
    task->shared = reinterpret_cast<char*>(task) +
                   (static_cast<char*>(pattern->shared) - reinterpret_cast<char*>(pattern));
  }
  return task;
}

void taskloop(KmpTask* pattern, bool deferred, std::uint64_t* lower, std::uint64_t* upper,
              std::int64_t step, bool nogroup, Chunks chunks, std::uint64_t wanted, bool strict,
              Duplicate duplicate) {
  Member& member = self();
  std::uint64_t first = *lower, last = *upper;  // both included; signed or not: only differences
  auto forward = static_cast<std::uint64_t>(step);
  std::uint64_t stride = step > 0 ? forward : 0 - forward;
  std::uint64_t span = step > 0 ? last - first : first - last;
  // clang's loops count from 0 by 1, over any number of iterations a word can hold.
  bool some = step == 1 ? span + 1 != 0 : static_cast<std::int64_t>(span) >= 0;
  std::uint64_t n = some ? span / stride + 1 : 0;
  ompt::Taskloop event(member, n);
  if (!nogroup) begin_taskgroup(member);
  if (n) {
    Cut cuts = cut(n, chunks, wanted, strict, member.team->size);
    auto lower_at = reinterpret_cast<char*>(lower) - reinterpret_cast<char*>(pattern);
    auto upper_at = reinterpret_cast<char*>(upper) - reinterpret_cast<char*>(pattern);
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < cuts.tasks; ++i) {
      std::uint64_t length = cuts.each + (i < cuts.longer);
      bool is_last = i + 1 == cuts.tasks;
      if (cuts.last && is_last) length = cuts.last;
      KmpTask* task = copy_of(member, pattern);
      std::uint64_t end = first + static_cast<std::uint64_t>(step) * (length - 1);
      *reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(task) + lower_at) = first;
      *reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(task) + upper_at) = end;
      if (duplicate) duplicate(task, pattern, is_last);
      first = end + static_cast<std::uint64_t>(step);
      event.next_task(done, length);
      done += length;
      if (deferred) {
        submit_kmp_task(member, task);
      } else {
        run_undeferred(member, record_of(task));
      }
    }
  }
  // The pattern itself never runs, but what was constructed in it is destroyed.
  ExplicitTask& record = record_of(pattern);
  if (record.abi_flags & kKmpDestructors) pattern->destructors(member.gtid, pattern);
  discard_task(record);
  if (!nogroup) end_taskgroup(member);
}

}  // namespace

extern "C" {

// `lower`, `upper`: in the task.
ROOST_EXPORT void __kmpc_taskloop(Ident*, std::int32_t, KmpTask* task, std::int32_t if_clause,
                                  std::uint64_t* lower, std::uint64_t* upper, std::int64_t step,
                                  std::int32_t nogroup, std::int32_t chunks, std::uint64_t wanted,
                                  void* duplicate) {
  ompt::Entry entry;
  taskloop(task, if_clause, lower, upper, step, nogroup, static_cast<Chunks>(chunks), wanted, false,
           reinterpret_cast<Duplicate>(duplicate));
}
ROOST_EXPORT void __kmpc_taskloop_5(Ident*, std::int32_t, KmpTask* task, std::int32_t if_clause,
                                    std::uint64_t* lower, std::uint64_t* upper, std::int64_t step,
                                    std::int32_t nogroup, std::int32_t chunks, std::uint64_t wanted,
                                    std::int32_t modifier, void* duplicate) {
  ompt::Entry entry;
  taskloop(task, if_clause, lower, upper, step, nogroup, static_cast<Chunks>(chunks), wanted,
           modifier & 1, reinterpret_cast<Duplicate>(duplicate));
}

}  // extern "C"
}  // namespace roost::omp
