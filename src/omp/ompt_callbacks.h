// The tool's callbacks, and what those who call them have in common. For omp/ompt_*.cc alone.
#pragma once

#include "omp/ompt.h"
#include "omp/team.h"

namespace roost::omp::ompt {

extern constinit std::atomic<AnyFunction> callbacks[kLastEvent + 1];

// What the tool registered for an event, as its type; null: nothing.
template <class Callback>
Callback callback(Event event) {
  AnyFunction function = callbacks[static_cast<unsigned>(event)].load(std::memory_order_relaxed);
  return reinterpret_cast<Callback>(function);
}

// What the lookup function finds (omp/ompt_entry.cc).
AnyFunction look_up(const char* name);
// ompt_finalize_tool: at the latest when the process exits. Ends the calling thread, for the tool.
void finalize_tool();

// What the calling OS thread keeps for the tool; null before its thread_begin event.
Data* thread_data();
// The member the calling OS thread is in; null: none. In signal handlers, too.
inline Member* current_member() { return static_cast<Member*>(ult::here.local); }

inline Data* parallel_of(const Member& member) { return member.team->tool.parallel; }
inline Data* task_of(const Member& member) { return &member.task->tool.data; }
inline std::uint64_t wait_id_of(const void* lock) { return reinterpret_cast<std::uintptr_t>(lock); }
// What a task is, apart from how it was created.
int flags_of(const Task& task);

}  // namespace roost::omp::ompt
