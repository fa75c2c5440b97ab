// What the runtime tells a tool (OMPT, OpenMP 5.2, chapter 19): one call for each event.
//
// A trace (roost run --trace) is told of the same events (omp/ompt_trace.h). Without tool and trace
// each of these costs a load of one byte that never changes and a branch that is never taken.
// Whether there is one is found out when the runtime is first used (omp/ompt_start.cc).
//
// Threads, in the sense of the standard, are OS threads. Members that share one are tasks that take
// turns on it: a switch from one to another is a task_schedule event (omp/ompt_thread.cc). So
// callbacks of one thread never overlap, and a tool's thread-local variables are the thread's.
//
// Callbacks run with the library's state in order: they may ask the lookup functions anything, and
// may wait for what other threads hold, but may not use OpenMP constructs. Those of dependences run
// under a spin lock.
#pragma once

#include <atomic>

#include "omp/ompt_state.h"

namespace roost::omp {

struct ExplicitTask;
struct Member;
struct Team;
class Dependences;

namespace ompt {

// ---- Whether there is a tool --------------------------------------------------------------------

enum Activity : std::uint8_t { kOff, kOn, kUnknown, kStarting };
extern constinit std::atomic<std::uint8_t> activity;
bool look_for_tool();
inline bool on() {
  return __builtin_expect(activity.load(std::memory_order_relaxed) != kOff, 0) && look_for_tool();
}

// By the first thread to use the runtime, before it is anything; others wait for that.
void start();
// In the child of a fork: whoever was looking for a tool in the parent is not here.
void look_again_after_fork();

// ---- Where in the program -----------------------------------------------------------------------

// Around all that an entry point does: the current task's code is left until then.
class Entry {
 public:
  [[gnu::always_inline]] Entry() {
    if (on()) enter(__builtin_return_address(0), __builtin_dwarf_cfa());
  }
  ~Entry() {
    if (__builtin_expect(member_ != nullptr, 0)) leave();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  // The entry point returns to the program in another task, within this one's frame: the task that
  // called stays left until what was begun ends.
  void stay() {
    if (__builtin_expect(member_ != nullptr, 0)) stay_entered();
  }
  // The end of that: the program goes on in `task`.
  void left(Task& task) {
    if (__builtin_expect(member_ != nullptr, 0)) continue_in(task);
  }

 private:
  void enter(const void* code, void* frame);
  void leave();
  void stay_entered();
  static void continue_in(Task& task);
  Member* member_ = nullptr;
  Task* task_;
  const void* outer_code_;
  Data outer_frame_;
};

// Around a call of the current task's code, in the function that makes it.
class UserCode {
 public:
  [[gnu::always_inline]] UserCode() {
    if (on()) enter(__builtin_frame_address(0));
  }
  ~UserCode() {
    if (__builtin_expect(task_ != nullptr, 0)) leave();
  }
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;

 private:
  void enter(void* frame);
  void leave();
  Task* task_ = nullptr;
};

// ---- Threads, regions and their members ---------------------------------------------------------

namespace slow {
void initial_thread_begins(Member& initial);
void thread_ends(Member& initial);
void worker_ends();
void region_begins(Team& team);
void region_ends(Team& team, Member& master);
void part_begins(Member& member);
void part_arrives(Member& member, bool leaves);
void part_leaves(Member& member);
void league_begins(Member& member, Data& league, unsigned size);
void league_ends(Member& member, Data& league);
}  // namespace slow

// The calling thread's initial task begins, and ends.
inline void initial_thread_begins(Member& initial) {
  if (on()) slow::initial_thread_begins(initial);
}
inline void worker_ends() {
  if (on()) slow::worker_ends();
}
inline void thread_ends(Member& initial) {
  if (on()) slow::thread_ends(initial);
}
// By the opener, before its members begin.
inline void region_begins(Team& team) {
  if (on()) slow::region_begins(team);
}
// By the master, when all others have left the region: it leaves, too, and is the opener again.
inline void region_ends(Team& team, Member& master) {
  if (on()) slow::region_ends(team, master);
}
// By the member: its part begins, has come to the barrier at the region's end (and leaves that at
// once), and leaves it.
inline void part_begins(Member& member) {
  if (on()) slow::part_begins(member);
}
inline void part_arrives(Member& member, bool leaves) {
  if (on()) slow::part_arrives(member, leaves);
}
inline void part_leaves(Member& member) {
  if (on()) slow::part_leaves(member);
}
// A teams region, by who encounters it.
inline void league_begins(Member& member, Data& league, unsigned size) {
  if (on()) slow::league_begins(member, league, size);
}
inline void league_ends(Member& member, Data& league) {
  if (on()) slow::league_ends(member, league);
}

// ---- Synchronisation ----------------------------------------------------------------------------

// A region in which the member waits: a barrier, a taskwait, the end of a taskgroup.
class SyncRegion {
 public:
  SyncRegion(Member& member, Sync kind) {
    if (on()) begin(member, kind);
  }
  ~SyncRegion() {
    if (__builtin_expect(member_ != nullptr, 0)) end();
  }
  SyncRegion(const SyncRegion&) = delete;
  SyncRegion& operator=(const SyncRegion&) = delete;

 private:
  void begin(Member& member, Sync kind);
  void end();
  Member* member_ = nullptr;
  Sync kind_;
  State before_;
};

namespace slow {
void taskgroup_begins(Member& member);
void reduction(Member& member, Endpoint endpoint);
void flush(const void* code);
void cancel(Member& member, int flags);
}  // namespace slow

// Its end is a SyncRegion.
inline void taskgroup_begins(Member& member) {
  if (on()) slow::taskgroup_begins(member);
}
// The member combines its part with others'.
inline void reduction(Member& member, Endpoint endpoint) {
  if (on()) slow::reduction(member, endpoint);
}
[[gnu::always_inline]] inline void flush() {
  if (on()) slow::flush(__builtin_return_address(0));
}
// `flags`: what is cancelled, and whether it is done or found to have been.
inline void cancel(Member& member, int flags) {
  if (on()) slow::cancel(member, flags);
}

// ---- Explicit tasks -----------------------------------------------------------------------------

namespace slow {
void task_created(Member& member, ExplicitTask& task, const Dependences* dependences,
                  bool undeferred);
void task_begins(Member& member, ExplicitTask& task);
void task_ends(Member& member, ExplicitTask& task);
void task_fulfilled(ExplicitTask& task, bool early);
void discarded(ExplicitTask& task);
void depends(Task& earlier, Task& later);
void taskyield(Member& member, bool begins);
}  // namespace slow

// Before it is queued or begins.
inline void task_created(Member& member, ExplicitTask& task, const Dependences* dependences,
                         bool undeferred) {
  if (on()) slow::task_created(member, task, dependences, undeferred);
}
// The member goes on to the task, which is not yet its current one; and back, when it still is.
inline void task_begins(Member& member, ExplicitTask& task) {
  if (on()) slow::task_begins(member, task);
}
inline void task_ends(Member& member, ExplicitTask& task) {
  if (on()) slow::task_ends(member, task);
}
// Before fulfill() lets it be complete. `early`: its body is not over.
inline void task_fulfilled(ExplicitTask& task, bool early) {
  if (on()) slow::task_fulfilled(task, early);
}
// Its body is passed over, since it was cancelled.
inline void discarded(ExplicitTask& task) {
  if (on()) slow::discarded(task);
}
// The later one waits for the earlier one, which is not complete.
inline void depends(Task& earlier, Task& later) {
  if (on()) slow::depends(earlier, later);
}
// Around the choice of another task.
inline void taskyield(Member& member, bool begins) {
  if (on()) slow::taskyield(member, begins);
}

// A taskwait with dependences is a task of its own to tools.
class TaskwaitTask {
 public:
  TaskwaitTask(Member& member, const Dependences& dependences) {
    if (on()) begin(member, dependences);
  }
  ~TaskwaitTask() {
    if (__builtin_expect(member_ != nullptr, 0)) end();
  }
  TaskwaitTask(const TaskwaitTask&) = delete;
  TaskwaitTask& operator=(const TaskwaitTask&) = delete;

 private:
  void begin(Member& member, const Dependences& dependences);
  void end();
  Member* member_ = nullptr;
  Data data_;
};

// ---- Mutual exclusion ---------------------------------------------------------------------------

// Around taking a lock, or trying to. `lock`: its address names it.
class Acquire {
 public:
  Acquire(Mutex kind, const void* lock) {
    if (on()) begin(kind, lock);
  }
  ~Acquire() {
    if (__builtin_expect(member_ != nullptr, 0)) end();
  }
  Acquire(const Acquire&) = delete;
  Acquire& operator=(const Acquire&) = delete;
  // The lock was not to be had; or its owner has it once more.
  void failed() { outcome_ = Outcome::failed; }
  void nested() { outcome_ = Outcome::nested; }

 private:
  enum class Outcome : std::uint8_t { acquired, failed, nested };
  void begin(Mutex kind, const void* lock);
  void end();
  Member* member_ = nullptr;
  const void* lock_;
  Mutex kind_;
  State before_;
  Outcome outcome_ = Outcome::acquired;
};

namespace slow {
void released(Mutex kind, const void* lock);
void nest_lock_left(const void* lock);
void lock_begins(Mutex kind, const void* lock, unsigned hint);
void lock_ends(Mutex kind, const void* lock);
}  // namespace slow

inline void released(Mutex kind, const void* lock) {
  if (on()) slow::released(kind, lock);
}
// The owner of a nestable lock gives it back once, and still has it.
inline void nest_lock_left(const void* lock) {
  if (on()) slow::nest_lock_left(lock);
}
// It is initialised, and destroyed.
inline void lock_begins(Mutex kind, const void* lock, unsigned hint = 0) {
  if (on()) slow::lock_begins(kind, lock, hint);
}
inline void lock_ends(Mutex kind, const void* lock) {
  if (on()) slow::lock_ends(kind, lock);
}

// ---- Worksharing --------------------------------------------------------------------------------

namespace slow {
void work_begins(Member& member, Work work, std::uint64_t count);
void work_ends(Member& member);
void work_skipped(Member& member, Work work);
void chunk(Member& member, std::uint64_t low, std::uint64_t high);
void masked(Member& member, Endpoint endpoint);
}  // namespace slow

// The member enters a worksharing region; it leaves one that it is in still (GCC tells no end of
// single). `count`: iterations or sections, 1 for others.
inline void work_begins(Member& member, Work work, std::uint64_t count) {
  if (on()) slow::work_begins(member, work, count);
}
// It leaves the one it is in, if any.
inline void work_ends(Member& member) {
  if (on()) slow::work_ends(member);
}
// It has no part in one (single).
inline void work_skipped(Member& member, Work work) {
  if (on()) slow::work_skipped(member, work);
}
// It got a chunk of the loop it is in: iterations low to high - 1.
inline void chunk(Member& member, std::uint64_t low, std::uint64_t high) {
  if (on()) slow::chunk(member, low, high);
}
inline void masked(Member& member, Endpoint endpoint) {
  if (on()) slow::masked(member, endpoint);
}

// A taskloop, which may lie within a worksharing region.
class Taskloop {
 public:
  Taskloop(Member& member, std::uint64_t count) {
    if (on()) begin(member, count);
  }
  ~Taskloop() {
    if (__builtin_expect(member_ != nullptr, 0)) end();
  }
  Taskloop(const Taskloop&) = delete;
  Taskloop& operator=(const Taskloop&) = delete;
  // What the task that is submitted next is given.
  void next_task(std::uint64_t first, std::uint64_t count) {
    if (__builtin_expect(member_ != nullptr, 0)) task(first, count);
  }

 private:
  void begin(Member& member, std::uint64_t count);
  void task(std::uint64_t first, std::uint64_t count);
  void end();
  Member* member_ = nullptr;
  std::uint64_t count_;
};

// ---- What programs tell a tool ------------------------------------------------------------------

// omp_control_tool(): -2 without a tool, -1 if it has no such callback, else what that says.
int control_tool(int command, int modifier, void* argument, const void* code);
// An error directive; `severity` 1: warning, 2: fatal.
void error(int severity, const char* message, std::size_t length, const void* code);

}  // namespace ompt
}  // namespace roost::omp
