// Events of synchronisation: barriers, taskwait, taskgroup, reductions, flush; and cancellation.
#include "omp/ompt_callbacks.h"

namespace roost::omp::ompt {
namespace {

State waiting(Sync kind) {
  switch (kind) {
    case Sync::barrier_explicit:
      return State::wait_barrier_explicit;
    case Sync::barrier_implicit_workshare:
      return State::wait_barrier_implicit_workshare;
    case Sync::barrier_implicit_parallel:
      return State::wait_barrier_implicit_parallel;
    case Sync::taskwait:
      return State::wait_taskwait;
    case Sync::taskgroup:
      return State::wait_taskgroup;
    case Sync::barrier_implementation:
    case Sync::reduction:
      break;
  }
  return State::wait_barrier_implementation;
}

void tell_sync(Event event, Sync kind, Endpoint endpoint, const Member& member) {
  if (auto tell = callback<SyncRegionCallback>(event))
    tell(kind, endpoint, parallel_of(member), task_of(member), member.tool.code);
}

}  // namespace

void SyncRegion::begin(Member& member, Sync kind) {
  member_ = &member;
  kind_ = kind;
  // A barrier ends what GCC has no call for; a taskgroup has begun before.
  if (kind != Sync::taskwait && kind != Sync::taskgroup) work_ends(member);
  if (kind != Sync::taskgroup) tell_sync(Event::sync_region, kind, Endpoint::begin, member);
  tell_sync(Event::sync_region_wait, kind, Endpoint::begin, member);
  before_ = member.tool.state;
  member.tool.state = waiting(kind);
}

void SyncRegion::end() {
  member_->tool.state = before_;
  tell_sync(Event::sync_region_wait, kind_, Endpoint::end, *member_);
  tell_sync(Event::sync_region, kind_, Endpoint::end, *member_);
}

namespace slow {

void taskgroup_begins(Member& member) {
  tell_sync(Event::sync_region, Sync::taskgroup, Endpoint::begin, member);
}

void reduction(Member& member, Endpoint endpoint) {
  tell_sync(Event::reduction, Sync::reduction, endpoint, member);
  member.tool.state = endpoint == Endpoint::begin ? State::work_reduction : working(*member.team);
}

void flush(const void* code) {
  if (auto tell = callback<Flush>(Event::flush)) tell(thread_data(), code);
}

void cancel(Member& member, int flags) {
  if (auto tell = callback<Cancel>(Event::cancel)) tell(task_of(member), flags, member.tool.code);
}

}  // namespace slow

// ---- What programs tell a tool ------------------------------------------------------------------

int control_tool(int command, int modifier, void* argument, const void* code) {
  constexpr int kNoTool = -2, kNoCallback = -1;
  if (!on()) return kNoTool;
  auto tell = callback<ControlTool>(Event::control_tool);
  if (!tell) return has_tool() ? kNoCallback : kNoTool;
  return tell(static_cast<std::uint64_t>(command), static_cast<std::uint64_t>(modifier), argument,
              code);
}

void error(int severity, const char* message, std::size_t length, const void* code) {
  if (!on()) return;
  if (auto tell = callback<Error>(Event::error)) tell(severity, message, length, code);
}

}  // namespace roost::omp::ompt
