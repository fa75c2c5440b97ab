// Events of worksharing: loops, sections, single, distribute, taskloop, masked.
#include "omp/ompt_callbacks.h"

namespace roost::omp::ompt {
namespace {

void tell_work(Work work, Endpoint endpoint, const Member& member, std::uint64_t count) {
  if (auto tell = callback<WorkCallback>(Event::work))
    tell(work, endpoint, parallel_of(member), task_of(member), count, member.tool.code);
}

}  // namespace

void tell_chunk(const Member& member, Data& task, Dispatch kind, DispatchChunk chunk) {
  if (auto tell = callback<DispatchCallback>(Event::dispatch)) {
    Data instance;
    instance.ptr = &chunk;
    tell(parallel_of(member), &task, kind, instance);
  }
}

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

void chunk(Member& member, std::uint64_t low, std::uint64_t high) {
  Work work = member.tool.work;
  if (work == Work::sections) {
    // By which section it is, nobody says.
    auto tell = callback<DispatchCallback>(Event::dispatch);
    Data instance;
    instance.ptr = const_cast<void*>(member.tool.code);
    if (tell) tell(parallel_of(member), task_of(member), Dispatch::section, instance);
  }
  if (is_loop(work)) tell_chunk(member, *task_of(member), Dispatch::loop_chunk, {low, high - low});
  if (work == Work::distribute)
    tell_chunk(member, *task_of(member), Dispatch::distribute_chunk, {low, high - low});
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

void Taskloop::task(std::uint64_t first, std::uint64_t count) {
  member_->tool.next_chunk = {first, count};
}

void Taskloop::end() { tell_work(Work::taskloop, Endpoint::end, *member_, count_); }

}  // namespace roost::omp::ompt
