// Tasks: the implicit one of each member of a team, and explicit ones.
//
// A task is told apart from its record: the task is complete when its body is over and its event,
// if it has one, is fulfilled; the record lives until the records of all tasks it created are gone,
// since they name it as their parent. So a record that goes tells its parent that a whole tree of
// tasks is complete, and only trees are counted where many tasks would meet: in Team::unfinished,
// and in taskgroups. Records are never given back to the system (omp/task_memory.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "omp/glimpse.h"
#include "omp/icv.h"
#include "omp/ompt_state.h"
#include "ult/carrier.h"

namespace roost::omp {

struct Member;
struct Team;
struct Task;
struct DependTable;
struct DependNode;
class Dependences;

// A taskgroup region: waits for the trees of tasks that its opener created in it.
struct TaskGroup {
  TaskGroup* outer = nullptr;
  Task* opener = nullptr;  // null: not waited for (reductions of a parallel region)
  std::atomic<std::uint32_t> trees{
      0};  // not complete; whoever makes it zero wakes opener->childless
  std::atomic<bool> cancelled{false};
  bool workshare = false;                     // opened for a worksharing construct's reductions
  std::uintptr_t* gomp_reductions = nullptr;  // innermost first (omp/gomp_reduction.cc)
  void* kmpc_reductions = nullptr;            // of this group (omp/kmpc_reduction.cc)
};

// What implicit and explicit tasks have in common: a data environment, and children.
struct Task {
  Icvs icvs;
  Team* team = nullptr;
  Glimpsed<Task*> parent = nullptr;  // the task that created it; null: initial
  TaskGroup* group = nullptr;        // the innermost taskgroup it is in
  DependTable* depends = nullptr;    // addresses its children depend on; its own thread's
  // kChild for each child that is not complete, kRecord for each child's record, and one kRecord
  // for an explicit task that is not complete itself.
  std::atomic<std::uint64_t> counts{0};
  // Those in its body that wait for children, for tasks they depend on, or for a taskgroup.
  ult::WaitList childless;
  Glimpsed<std::uint32_t> depth = 0;  // tasks above it in its region
  Glimpsed<bool> implicit = true;
  bool final_ = false;
  bool undeferred = false;       // in the execution of an if(0) or final task
  std::uint8_t outer_state = 0;  // for a tool: what its thread did before (ompt::State)
  ompt::TaskState tool;

  static constexpr std::uint64_t kChild = 1;
  static constexpr std::uint64_t kRecord = std::uint64_t{1} << 32;
  static std::uint32_t children_in(std::uint64_t counts) {
    return static_cast<std::uint32_t>(counts);
  }
  static std::uint32_t records_in(std::uint64_t counts) {
    return static_cast<std::uint32_t>(counts >> 32);
  }
};

// An explicit task; what the compiler copied for it follows.
struct ExplicitTask : Task {
  static constexpr std::uint8_t kKept = 255;
  void (*run)(ExplicitTask& task, Member& member) = nullptr;  // its body
  void* function = nullptr;
  void* argument = nullptr;
  DependNode* node = nullptr;  // null without a depend clause
  // In a shared queue; in a member's own, the task's age (omp/task_pool.cc).
  Glimpsed<ExplicitTask*> next = nullptr;
  std::atomic<std::uint32_t> holds{1};  // its body, and its event: complete when zero
  std::int32_t priority = 0;
  std::uint32_t lock_owner = 0;   // what nestable locks know the record by; 0: nothing yet; kept
  std::uint8_t memory_class = 0;  // kKept: it is not given back
  std::uint8_t abi_flags = 0;
  bool again = false;  // an untied task that asked for its next part
  // Written while nobody else knows of it.
  bool in_group_directly : 1 = false;  // its parent opened `group`
  bool detachable : 1 = false;
  bool must_run : 1 = false;  // even when cancelled: its copies were constructed
  bool untied : 1 = false;
  bool locks_as_member : 1 = false;  // nestable locks it takes are the member's
};

// ---- By the entry points, each for the member it is called by -----------------------------------

// A new task of the member's current one; `bytes` follow the record at payload().
ExplicitTask& create_task(Member& member, std::size_t bytes);
// What follows the record, aligned.
void* payload(ExplicitTask& task, std::size_t alignment);
inline constexpr std::size_t kPayload = 192;
static_assert(sizeof(ExplicitTask) <= kPayload);
// A task that was created and is not wanted: not submitted.
void discard_task(ExplicitTask& task);

// In the place of a body that is not executed, since its group or region is cancelled.
void discard_body(ExplicitTask& task);

// Executes it some time after the tasks it depends on, if any; at once where that is better.
void submit_task(Member& member, ExplicitTask& task, const Dependences* dependences = nullptr);
// Executes an undeferred task; the caller has waited for what it depends on.
void run_undeferred(Member& member, ExplicitTask& task);
// The same by halves: the caller does what the body does.
void begin_undeferred(Member& member, ExplicitTask& task);
void end_undeferred(Member& member, ExplicitTask& task);

// Lets the task be complete only after fulfill(). Before it is submitted.
void make_detachable(ExplicitTask& task);
// Any thread, once.
void fulfill(ExplicitTask& task);

// Waits for the current task's children.
void wait_for_children(Member& member);
// Waits until ready() holds, for what wakes task->childless; executes tasks below the current one.
template <class Ready>
void wait_in_task(Member& member, Ready&& ready);
// Executes a task below the current one, or lets somebody else of this thread go on.
void yield_task(Member& member);

// ---- By the queues ------------------------------------------------------------------------------

// Executes a task that was taken from a queue.
void execute_task(Member& member, ExplicitTask& task);
// The same for one of another member's; how long its body took.
std::uint64_t execute_stolen_task(Member& member, ExplicitTask& task);  // ticks

// ---- Taskgroups (omp/task_group.cc) -------------------------------------------------------------

TaskGroup& begin_taskgroup(Member& member);
void end_taskgroup(Member& member);

// ---- Cancellation -------------------------------------------------------------------------------

// OMP_CANCELLATION; negative: not asked yet.
extern constinit std::atomic<int> known_cancellation;
bool ask_for_cancellation();
inline bool cancellation() {
  int known = known_cancellation.load(std::memory_order_relaxed);
  return __builtin_expect(known >= 0, 1) ? known != 0 : ask_for_cancellation();
}
// Whether the region or the taskgroup the task is in was cancelled.
bool is_cancelled(const Task& task);

}  // namespace roost::omp
