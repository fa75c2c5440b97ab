// Teams and their members: what a parallel region is while it runs.
//
// A team is a batch (ult/batch.h): one call a member. The master runs member 0 where it is, on the
// stack it has; the others run on workers that were listening, on carriers that had nothing to do,
// or, if nobody came for them, one after the other on top of the master's stack when it arrives at
// the end of the region. So a region that finds no core to spare costs little more than its calls.
//
// Teams are kept for the next region of the same carrier, with their members and their gtids, and
// are never given back: thieves may look at a team that has ended (ult/batch.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/floating_point.h"
#include "omp/barrier.h"
#include "omp/icv.h"
#include "omp/ompt.h"
#include "omp/reduction.h"
#include "omp/task.h"
#include "omp/workshare.h"
#include "ult/carrier.h"

namespace roost::omp {

struct TaskPool;
struct TaskDeque;
struct League;
struct ThreadsClause;
class Lock;

// A thread of a team, as OpenMP sees it. Written by whoever runs it.
struct alignas(kCoreStride) Member {
  Team* team = nullptr;
  std::uint32_t number = 0;
  std::int32_t gtid = 0;  // LLVM's name for it: unique among all members, and kept
  Task* task = nullptr;   // the one it executes
  Task implicit;
  LoopState loop;                // of the worksharing construct it is in (omp/workshare.h)
  std::uint32_t workshares = 0;  // number of the next one with shared state
  std::uint32_t singles = 0;     // how many single constructs
  ReductionState reduction;
  CombinedLoop combined;       // the loop of the parallel loop it opens (GCC)
  TaskDeque* deque = nullptr;  // its explicit tasks; kept (omp/task_pool.h)
  Lock* call_lock = nullptr;   // omp/call_lock.h
  // What LLVM's push calls say of the next region.
  unsigned pushed_threads = 0;
  Bind pushed_bind = Bind::no;
  ThreadsClause* pushed_clause = nullptr;
  ompt::MemberState tool;
};

// What stops early (bits of Team::cancelled).
inline constexpr std::uint32_t kCancelParallel = 1;
inline constexpr std::uint32_t kCancelLoop = 2;
inline constexpr std::uint32_t kCancelSections = 4;
inline constexpr std::uint32_t kCancelTaskgroup = 8;

struct Region {
  // Runs a member's part; `function` and `data` as the compiler passed them.
  void (*invoke)(Team& team, Member& member) = nullptr;
  void* function = nullptr;
  void* data = nullptr;
  void** arguments = nullptr;  // LLVM's microtasks: so many; else null
  unsigned n_arguments = 0;
  unsigned threads = 0;                   // num_threads clause; 0: as the ICVs say
  const ThreadsClause* clause = nullptr;  // what else that clause says
  unsigned pieces = 0;                    // of the loop or sections it is; 0: not known
  unsigned counted = 0;                   // members that settle_size() gave it; 0: not called
  Bind bind = Bind::no;                   // proc_bind clause; no: there is none
  bool hands_bind_on = false;             // to the control variable of its members (gcc)
  TaskGroup* group = nullptr;             // members begin in it (reductions with the task modifier)
  const League* league = nullptr;         // it is an initial task, and no region of the program's

  // Of GCC's calls: they say the clause.
  void take_flags(unsigned flags) {
    bind = static_cast<Bind>(flags & 7);
    hands_bind_on = true;
  }
};

struct Team : ult::Batch {
  // ---- what members read as they begin (kReadAtCall) ----
  Region region;
  // The region's, where they are few: its opener's stack would be one more cache line to fetch, and
  // not before this one is there.
  static constexpr unsigned kFewArguments = 4;
  void* few_arguments[kFewArguments];
  ult::Strand* master = nullptr;  // which runs member 0
  FloatingPoint
      floating_point{};      // the opener's, as it opened the region: members begin with its modes
  Member* opener = nullptr;  // who encountered the construct; null: an initial thread's team
  Member* members = nullptr;
  std::uint32_t size = 1;
  std::uint32_t capacity = 0;
  std::uint32_t level = 0;              // nested regions around, this one included
  std::uint32_t active_level = 0;       // of those, with more than one member
  Icvs icvs;                            // members begin with them
  std::atomic<std::uint32_t> round{0};  // regions this team has ended
  std::uint32_t first_workshare = 0;    // number of the region's first construct
  bool may_have_tasks = false;          // nobody knows that its region creates none
  // Not every member has an OS thread of its own. Settled when those that have may run already.
  std::atomic<bool> light{false};

  // ---- what is for the opener, and seldom for others ----
  Team* next = nullptr;                         // among a carrier's free teams
  const ThreadsClause* threads_list = nullptr;  // for regions in it; null: no clause has a list
  std::uint32_t threads_list_level = 0;         // of the region that has it
  // teams construct (host): number of leagues and this one's; 1 and 0 outside.
  std::uint32_t league_size = 1;
  std::uint32_t league = 0;

  // ---- what members write ----
  // Members that have not come to the end, besides the master.
  alignas(kCoreStride) std::atomic<std::uint32_t> remaining{0};
  ult::WaitList done;                     // the master, for `remaining` to be zero
  std::atomic<std::uint32_t> helpers{0};  // workers that look for its tasks after their part
  std::atomic<std::uint32_t> singles{0};  // single constructs somebody has entered
  void* copyprivate = nullptr;            // of the single under way
  alignas(kCoreStride) Barrier barrier;
  // Beside what those in the barrier poll, as they look at it as often.
  std::atomic<std::uint32_t> cancelled{0};
  alignas(kCoreStride) Workshares workshares;
  TaskPool* tasks = nullptr;                 // made with the first explicit task; kept
  std::atomic<std::uint32_t> unfinished{0};  // explicit tasks that are not complete
  // Its tasks take long, as far as thieves have seen: they are done in the order of their ages.
  std::atomic<bool> long_tasks{false};
  std::atomic<std::uint64_t> ages{0};  // the last one given

  // What was sent to workers: member i + 1 to worker sent[i]. Of the master alone.
  std::uint16_t* sent = nullptr;
  std::uint32_t n_sent = 0;
  // Where members have OS threads of their own: the worker of member i + 1, counted from 1; 0: none
  // yet. Kept from region to region.
  std::uint16_t* own = nullptr;
  bool own_threads = false;  // each member is to have an OS thread of its own (omp/levels.h)
  bool unseen = false;       // its region runs for the first time
  // Members of its region that are counted in the contention group where that has a limit, but the
  // master; and, in the team of the group's initial task, all that are.
  std::uint32_t counted = 0;
  std::atomic<std::uint32_t> group_members{0};
  const ult::Batch* was_inside = nullptr;  // of the master, before
  ompt::TeamState tool;
};

inline bool region_cancelled(const Team& team) {
  return team.cancelled.load(std::memory_order_seq_cst) & kCancelParallel;
}

// The member whose code the caller is in; the initial one of an OS thread outside regions.
Member& become_initial();
inline Member& self() {
  void* local = ult::here.local;
  return __builtin_expect(local != nullptr, 1) ? *static_cast<Member*>(local) : become_initial();
}

// Makes the member what it is as its part begins.
void begin_member(Member& member);

// How many members a region gets that the member opens now, and counts them in the contention
// group, whose limit it keeps, until end_region(). Where the program leaves the number to the
// runtime (dyn-var): no more than cores, and no more than the pieces of work it has, if known.
unsigned settle_size(const Member& opener, const Region& region);

// Opens a region: the caller goes on as its member 0. end_region() waits for the others, and for
// all tasks, and makes the caller the opener again.
Team& begin_region(const Region& region);
void end_region();
// The whole of it.
void parallel(const Region& region);
// A team of one, for code that runs serially (GOMP_parallel with one thread, LLVM's serialized
// parallel).
inline Region serial_region() {
  Region region;
  region.threads = 1;
  return region;
}

// Waits for all members of the team and for all its tasks. True if the region was cancelled.
// `kind`: what it is to a tool.
bool team_barrier(Member& member, ompt::Sync kind);

// Number of OpenMP threads on whose gtid other tables may be sized.
unsigned gtids();

}  // namespace roost::omp
