// The tool's callbacks, and what those who call them have in common. For omp/ompt_*.cc, and
// doacross loops.
#pragma once

#include "omp/ompt.h"
#include "omp/ompt_trace.h"
#include "omp/task_memory.h"
#include "omp/team.h"
#include "ult/kernel.h"

namespace roost::omp::ompt {

extern constinit std::atomic<AnyFunction> callbacks[kLastEvent + 1];

// While the tool has the thread: no other light thread of it runs, however the tool waits, so that
// its callbacks do not meet each other there; and errno stays the program's.
class ToolRuns {
 public:
  ToolRuns() {
    if (ult::here.carrier) inside_ = ult::set_inside(nullptr);
  }
  ~ToolRuns() {
    if (ult::here.carrier) ult::set_inside(inside_);
  }
  ToolRuns(const ToolRuns&) = delete;
  ToolRuns& operator=(const ToolRuns&) = delete;

 private:
  ult::kernel::KeepErrno keep_;
  const ult::Batch* inside_ = nullptr;
};

// What the tool registered for an event, and the trace: each is told if it is there.
template <class Function>
class Callback;
template <class Result, class... Arguments>
class Callback<Result (*)(Arguments...)> {
 public:
  Callback(Event event, AnyFunction function)
      : event_(event), function_(reinterpret_cast<Result (*)(Arguments...)>(function)) {}
  explicit operator bool() const { return function_ || (tracing && is_traced(event_)); }
  Result operator()(Arguments... arguments) const {
    if (tracing && is_traced(event_)) traced::tell(event_, arguments...);
    if (!function_) return Result();
    ToolRuns runs;
    return function_(arguments...);
  }

 private:
  Event event_;
  Result (*function_)(Arguments...);
};

// As its type; false: nothing.
template <class Function>
Callback<Function> callback(Event event) {
  return Callback<Function>(
      event, callbacks[static_cast<unsigned>(event)].load(std::memory_order_relaxed));
}

inline Data* task_of(const Member& member) { return &member.task->tool.data; }

// The task's dependences: item(i) is each.
template <class Item>
void tell_dependences(Data& task, std::size_t count, Item&& item) {
  auto tell = callback<DependencesCallback>(Event::dependences);
  if (!tell) return;
  auto* list = take_others<Dependence>(count * sizeof(Dependence));
  for (std::size_t i = 0; i < count; ++i) list[i] = item(i);
  tell(&task, list, static_cast<int>(count));
  give_others(list, count * sizeof(Dependence));
}
// An iteration of a doacross loop that the current task waits for (sink), or has done (source), by
// its number in each dimension.
template <class Number>
void tell_iteration(const Member& member, DependenceKind kind, unsigned dimensions,
                    Number&& number) {
  tell_dependences(*task_of(member), dimensions, [&](std::size_t d) {
    return Dependence{{.value = number(static_cast<unsigned>(d))}, kind};
  });
}

// Whether a tool is active, and not the trace alone.
bool has_tool();
// The member goes on to a chunk, in `task`.
void tell_chunk(const Member& member, Data& task, Dispatch kind, DispatchChunk chunk);

// What the lookup function finds (omp/ompt_entry.cc).
AnyFunction look_up(const char* name);
// ompt_get_unique_id.
std::uint64_t unique_id();
// ompt_finalize_tool: at the latest when the process exits. Ends the calling thread, for the tool.
void finalize_tool();

// The calling OS thread is in no region, nor its initial task, and in none to come.
void thread_leaves();

// What the calling OS thread keeps for the tool; null before its thread_begin event.
Data* thread_data();
// The member the calling OS thread is in; null: none. In signal handlers, too.
inline Member* current_member() { return static_cast<Member*>(ult::here.local); }

inline Data* parallel_of(const Member& member) { return member.team->tool.parallel; }
// At work in a parallel region, though it may have one member alone, or outside all.
inline State working(const Team& team) {
  return team.level && !team.region.league ? State::work_parallel : State::work_serial;
}
inline bool is_loop(Work work) { return work == Work::loop || work >= Work::loop_static; }
inline std::uint64_t wait_id_of(const void* lock) { return reinterpret_cast<std::uintptr_t>(lock); }
// What a task is, apart from how it was created.
int flags_of(const Task& task);

}  // namespace roost::omp::ompt
