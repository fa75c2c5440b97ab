// GCC's entry points: taskloop.
#include "omp/export.h"
#include "omp/gomp_reduction.h"
#include "omp/gomp_task.h"

namespace roost::omp {
namespace {

// How the iterations are cut into tasks: `tasks` of them, the first `longer` with one iteration
// more, the last with `last` if that is not 0.
struct Cut {
  std::uint64_t tasks = 1;
  std::uint64_t each = 0;
  std::uint64_t longer = 0;
  std::uint64_t last = 0;
};

Cut cut_evenly(std::uint64_t n, std::uint64_t tasks) { return {tasks, n / tasks, n % tasks, 0}; }

Cut cut(std::uint64_t n, unsigned flags, std::uint64_t wanted, unsigned members) {
  if (!(flags & kGompGrainsize)) {
    std::uint64_t tasks = wanted ? wanted : members;
    return cut_evenly(n, tasks < n ? tasks : n);
  }
  std::uint64_t grain = wanted ? wanted : 1;
  if (flags & kGompStrict) {
    std::uint64_t rest = n % grain;
    return {n / grain + (rest != 0), grain, 0, rest};
  }
  // At least `grain` iterations each, and less than twice as many.
  return cut_evenly(n, n / grain ? n / grain : 1);
}

// What a taskloop's data begins with: the task's bounds, the second exclusive; then, with
// reductions, their description.
template <class T>
struct Head {
  T begin;
  T end;
  std::uintptr_t* reductions;
};

template <class T>
struct Loop {
  T start, end, step;
  // Of what is left. The difference of bounds may need all bits of the unsigned type.
  std::uint64_t iterations(bool up) const {
    auto first = static_cast<std::uint64_t>(start), last = static_cast<std::uint64_t>(end);
    auto by = static_cast<std::uint64_t>(step);
    if (up) return start < end ? (last - first - 1) / by + 1 : 0;
    return start > end ? (first - last - 1) / (0 - by) + 1 : 0;
  }
};

template <class T>
void taskloop(const GompBody& body, unsigned flags, std::uint64_t wanted, int priority,
              const Loop<T>& loop, bool up) {
  Member& member = self();
  Task& current = *member.task;
  auto* head = static_cast<Head<T>*>(body.data);
  std::uint64_t n = loop.iterations(up);
  bool group = !(flags & kGompNogroup);
  if (!n || gomp_creates_nothing(current)) {
    // So the compiler's code knows that there is nothing to combine.
    if (group && flags & kGompReduction) head->reductions[2] = 0;
    return;
  }
  Cut cuts = cut(n, flags, wanted, member.team->size);
  ompt::Taskloop event(member, n);
  if (group) {
    TaskGroup& of_loop = begin_taskgroup(member);
    if (flags & kGompReduction) register_reductions(of_loop, head->reductions, member.team->size);
  }
  bool undeferred = !(flags & kGompIf) || current.final_;
  std::int32_t urgency = gomp_priority(flags, priority);
  auto at = static_cast<std::uint64_t>(loop.start);
  std::uint64_t done = 0;
  for (std::uint64_t i = 0; i < cuts.tasks; ++i) {
    std::uint64_t length = cuts.each + (i < cuts.longer);
    if (cuts.last && i + 1 == cuts.tasks) length = cuts.last;
    ExplicitTask& task = create_gomp_task(member, body, flags & kGompFinal);
    task.untied = flags & kGompUntied;
    copy_gomp_arguments(member, task, body);
    auto* part = static_cast<Head<T>*>(task.argument);
    part->begin = static_cast<T>(at);
    at += length * static_cast<std::uint64_t>(loop.step);
    part->end = static_cast<T>(at);
    event.next_task(done, length);
    done += length;
    // The last task ends where the loop does: lastprivate is told by that.
    if (undeferred) {
      run_undeferred(member, task);
    } else {
      task.priority = urgency;
      submit_task(member, task);
    }
  }
  if (group) end_taskgroup(member);
}

}  // namespace

extern "C" {

ROOST_EXPORT void GOMP_taskloop(void (*function)(void*), void* data, void (*copy)(void*, void*),
                                long bytes, long alignment, unsigned flags, unsigned long num_tasks,
                                int priority, long start, long end, long step) {
  ompt::Entry entry;
  GompBody body{function, data, copy, static_cast<std::size_t>(bytes),
                static_cast<std::size_t>(alignment)};
  taskloop<long>(body, flags, num_tasks, priority, {start, end, step}, step > 0);
}

ROOST_EXPORT void GOMP_taskloop_ull(void (*function)(void*), void* data, void (*copy)(void*, void*),
                                    long bytes, long alignment, unsigned flags,
                                    unsigned long num_tasks, int priority, unsigned long long start,
                                    unsigned long long end, unsigned long long step) {
  ompt::Entry entry;
  GompBody body{function, data, copy, static_cast<std::size_t>(bytes),
                static_cast<std::size_t>(alignment)};
  taskloop<unsigned long long>(body, flags, num_tasks, priority, {start, end, step},
                               flags & kGompUp);
}

}  // extern "C"
}  // namespace roost::omp
