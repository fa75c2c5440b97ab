// Events of threads, regions and their members, and where in the program they are.
#include "omp/league.h"
#include "omp/ompt_callbacks.h"

namespace roost::omp::ompt {
namespace {

struct ThreadState {
  Data data;
  bool begun;
};
constinit thread_local ThreadState thread = {};

void thread_begins(ThreadKind kind) {
  thread.data = {};
  thread.begun = true;
  if (auto tell = callback<ThreadBegin>(Event::thread_begin)) tell(kind, &thread.data);
}

// Two tasks of one OS thread, each with a stack of its own, one of which waits.
void strands_switch(void* from, void* to) {
  auto tell = callback<TaskSchedule>(Event::task_schedule);
  if (!tell || !from || !to || from == to || !on()) return;
  tell(task_of(*static_cast<Member*>(from)), TaskStatus::switched,
       task_of(*static_cast<Member*>(to)));
}

struct As {
  unsigned size;
  unsigned index;
  int flags;
};
// A league of a teams construct, whose program is the only member of a parallel region in its
// initial task, as in libomp.
bool has_region_inside(const Team& team) { return team.region.league && team.region.league->tool; }

As as_league(const League& league) { return {league.size, league.number, kInitialTask}; }
// How an implicit task is told of.
As as_part(const Member& member) {
  const Team& team = *member.team;
  if (team.region.league && !has_region_inside(team)) return as_league(*team.region.league);
  return {team.size, member.number, kImplicitTask};
}

void tell_implicit(Endpoint endpoint, Data* parallel, Data& task, const As& as) {
  if (auto tell = callback<ImplicitTask>(Event::implicit_task)) {
    unsigned size = endpoint == Endpoint::begin ? as.size : 0;
    tell(endpoint, parallel, &task, size, as.index, as.flags);
  }
}

constexpr As kInitial = {1, 1, kInitialTask};

}  // namespace

Data* thread_data() { return thread.begun ? &thread.data : nullptr; }

int flags_of(const Task& task) {
  if (task.implicit)
    return (task.team->region.league ? has_region_inside(*task.team) : task.team->level > 0)
               ? kImplicitTask | kUndeferred
               : kInitialTask;
  int flags = kExplicitTask;
  if (task.undeferred) flags |= kUndeferred;
  if (task.final_) flags |= kFinal;
  if (static_cast<const ExplicitTask&>(task).untied) flags |= kUntied;
  return flags;
}

// ---- Where in the program -----------------------------------------------------------------------

void Entry::enter(const void* code, void* frame) {
  member_ = &self();
  task_ = member_->task;
  outer_code_ = member_->tool.code;
  member_->tool.code = code;
  outer_frame_ = task_->tool.frame.enter_frame;
  task_->tool.frame.enter_frame.ptr = frame;
  task_->tool.frame.enter_frame_flags = kCanonicalOfRuntime;
}

void Entry::leave() {
  member_->tool.code = outer_code_;
  task_->tool.frame.enter_frame = outer_frame_;
}

void Entry::stay_entered() {
  member_->tool.code = outer_code_;
  // The region's code goes on in the frame that called the library.
  Frame& inner = self().task->tool.frame;
  inner.exit_frame = task_->tool.frame.enter_frame;
  inner.exit_frame_flags = kCanonicalOfRuntime;
  member_ = nullptr;
}

void Entry::continue_in(Task& task) { task.tool.frame.enter_frame = {}; }

void UserCode::enter(void* frame) {
  task_ = self().task;
  task_->tool.frame.exit_frame.ptr = frame;
  task_->tool.frame.exit_frame_flags = kFramePointerOfRuntime;
}

void UserCode::leave() { task_->tool.frame.exit_frame = {}; }

void thread_leaves() {
  if (!thread.begun) return;
  if (auto tell = callback<ThreadEnd>(Event::thread_end)) tell(&thread.data);
  thread.begun = false;
}

namespace slow {

// ---- Threads ------------------------------------------------------------------------------------

void initial_thread_begins(Member& initial) {
  if (thread.begun) return;  // a worker opens a region
  ult::strands_switch.store(strands_switch, std::memory_order_relaxed);
  void* before = ult::here.local;
  ult::here.local = &initial;
  thread_begins(ThreadKind::initial);
  initial.team->tool = {};
  initial.team->tool.parallel = &initial.team->tool.own;
  initial.tool = {};
  initial.implicit.tool = {};
  tell_implicit(Endpoint::begin, &initial.team->tool.own, initial.implicit.tool.data, kInitial);
  ult::here.local = before;
}

void thread_ends(Member& initial) {
  if (!thread.begun) return;
  void* before = ult::here.local;
  ult::here.local = &initial;
  // The standard has no region here; tools for LLVM's runtime (Archer) free what they keep with it.
  tell_implicit(Endpoint::end, &initial.team->tool.own, initial.implicit.tool.data, kInitial);
  ult::here.local = before;
  thread_leaves();
}

// One that has opened no region.
void worker_ends() { thread_leaves(); }

// ---- Regions ------------------------------------------------------------------------------------

void region_begins(Team& team) {
  Member& opener = *team.opener;
  const Region& region = team.region;
  team.tool = {};
  team.tool.code = opener.tool.code;
  team.tool.parallel = &team.tool.own;
  if (region.league) return;
  team.tool.flags = kTeam | (region.invoke ? kInvokerRuntime : kInvokerProgram);
  if (auto tell = callback<ParallelBegin>(Event::parallel_begin)) {
    Task& task = *opener.task;
    auto requested = region.threads ? region.threads : static_cast<unsigned>(task.icvs.threads);
    tell(&task.tool.data, &task.tool.frame, &team.tool.own, requested, team.tool.flags,
         team.tool.code);
  }
}

void region_ends(Team& team, Member& master) {
  part_leaves(master);
  ult::here.local = team.opener;
  if (team.region.league) return;
  Task& task = *team.opener->task;
  if (auto tell = callback<ParallelEnd>(Event::parallel_end))
    tell(&team.tool.own, &task.tool.data, team.tool.flags, team.tool.code);
  task.tool.frame.enter_frame = {};
}

void league_begins(Member& member, Data& league, unsigned size) {
  league = {};
  Task& task = *member.task;
  if (auto tell = callback<ParallelBegin>(Event::parallel_begin))
    tell(&task.tool.data, &task.tool.frame, &league, size, kLeague | kInvokerRuntime,
         member.tool.code);
}

void league_ends(Member& member, Data& league) {
  if (auto tell = callback<ParallelEnd>(Event::parallel_end))
    tell(&league, task_of(member), kLeague | kInvokerRuntime, member.tool.code);
}

namespace {

void begin_region_inside(Member& member) {
  Team& team = *member.team;
  const League& league = *team.region.league;
  tell_implicit(Endpoint::begin, league.tool, team.tool.initial, as_league(league));
  team.tool.flags = kTeam | kInvokerRuntime;
  team.tool.initial_frame = team.opener->task->tool.frame;
  if (auto tell = callback<ParallelBegin>(Event::parallel_begin))
    tell(&team.tool.initial, &team.tool.initial_frame, &team.tool.own, 1, team.tool.flags,
         team.tool.code);
}

void end_region_inside(Team& team) {
  if (auto tell = callback<ParallelEnd>(Event::parallel_end))
    tell(&team.tool.own, &team.tool.initial, team.tool.flags, team.tool.code);
  tell_implicit(Endpoint::end, nullptr, team.tool.initial, as_league(*team.region.league));
}

}  // namespace

void part_begins(Member& member) {
  Team& team = *member.team;
  if (!team.opener) return;  // of an initial thread
  if (!thread.begun) thread_begins(ThreadKind::worker);
  member.tool = {};
  member.tool.code = team.tool.code;
  member.tool.state = working(team);
  member.implicit.tool = {};
  if (has_region_inside(team)) begin_region_inside(member);
  tell_implicit(Endpoint::begin, team.tool.parallel, member.implicit.tool.data, as_part(member));
}

namespace {

// The barrier at the end of the member's region; afterwards the region is not named. Its place in
// the program is the opener's: the others are there for the runtime, as with libomp.
void tell_barrier(Event event, Endpoint endpoint, Member& member) {
  Data* parallel = endpoint == Endpoint::begin ? parallel_of(member) : nullptr;
  const void* code = member.number == 0 ? member.tool.code : nullptr;
  if (auto tell = callback<SyncRegionCallback>(event))
    tell(Sync::barrier_implicit_parallel, endpoint, parallel, task_of(member), code);
}

}  // namespace

void part_arrives(Member& member, bool leaves) {
  work_ends(member);
  if (!member.team->region.league) {
    member.tool.code = member.team->tool.code;
    tell_barrier(Event::sync_region, Endpoint::begin, member);
    tell_barrier(Event::sync_region_wait, Endpoint::begin, member);
    member.tool.state = State::wait_barrier_implicit_parallel;
  }
  if (leaves) part_leaves(member);
}

void part_leaves(Member& member) {
  if (!member.team->region.league) {
    member.tool.state = State::overhead;
    tell_barrier(Event::sync_region_wait, Endpoint::end, member);
    tell_barrier(Event::sync_region, Endpoint::end, member);
  }
  tell_implicit(Endpoint::end, nullptr, member.implicit.tool.data, as_part(member));
  if (has_region_inside(*member.team)) end_region_inside(*member.team);
}

}  // namespace slow
}  // namespace roost::omp::ompt
