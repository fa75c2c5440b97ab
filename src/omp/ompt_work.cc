// Events of worksharing: loops, sections, single, distribute, taskloop, masked.
#include "omp/ompt_callbacks.h"

namespace roost::omp::ompt {
namespace {

void tell_work(Work work, Endpoint endpoint, const Member& member, std::uint64_t count) {
  if (auto tell = callback<WorkCallback>(Event::work))
    tell(work, endpoint, parallel_of(member), task_of(member), count, member.tool.code);
}

}  // namespace

namespace slow {

void work_begins(Member& member, Work work, std::uint64_t count) {
  work_ends(member);
  member.tool.work = work;
  member.tool.work_count = count;
  if (work != Work::none) tell_work(work, Endpoint::begin, member, count);
}

void work_ends(Member& member) {
  Work work = member.tool.work;
  if (work == Work::none) return;
  member.tool.work = Work::none;
  tell_work(work, Endpoint::end, member, member.tool.work_count);
}

void work_skipped(Member& member, Work work) {
  work_ends(member);
  tell_work(work, Endpoint::begin, member, 1);
  tell_work(work, Endpoint::end, member, 1);
}

void chunk(Member& member) {
  auto tell = callback<DispatchCallback>(Event::dispatch);
  if (!tell || member.tool.work != Work::loop) return;
  DispatchChunk bounds = {member.loop.low, member.loop.high - member.loop.low};
  Data instance;
  instance.ptr = &bounds;
  tell(parallel_of(member), task_of(member), Dispatch::chunk, instance);
}

void masked(Member& member, Endpoint endpoint) {
  if (auto tell = callback<Masked>(Event::masked))
    tell(endpoint, parallel_of(member), task_of(member), member.tool.code);
}

}  // namespace slow

void Taskloop::begin(Member& member, std::uint64_t count) {
  member_ = &member;
  count_ = count;
  tell_work(Work::taskloop, Endpoint::begin, member, count);
}

void Taskloop::end() { tell_work(Work::taskloop, Endpoint::end, *member_, count_); }

}  // namespace roost::omp::ompt
