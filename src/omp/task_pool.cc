// The queues of explicit tasks, and who looks where.
//
// Batch::pieces says whether tasks may be queued: who queues one sets it, who finds nothing
// anywhere clears it. [pieces-1] The one queues and then looks at `pieces`, the other clears
// `pieces` and then looks once more at the queues, with a fence between the two on both sides: so a
// task is never queued with `pieces` zero for good.
#include "omp/task_pool.h"

#include "ult/carriers.h"
#include "ult/memory.h"

namespace roost::omp {

constinit std::atomic<bool> tasks_in_use{false};

namespace {

// Members that are created later, or looked at by thieves meanwhile.
TaskDeque* deque_if_any(Member& member) {
  return std::atomic_ref<TaskDeque*>(member.deque).load(std::memory_order_acquire);
}
TaskPool* pool_if_any(Team& team) {
  return std::atomic_ref<TaskPool*>(team.tasks).load(std::memory_order_acquire);
}

constinit ult::SpinLock pools_lock;

// After a task was queued.
void announce(Team& team) {
  RealWorld::fence();  // [pieces-1]
  if (team.pieces.load(std::memory_order_relaxed)) return;
  team.pieces.store(1, std::memory_order_seq_cst);
  ult::call_for_pieces(team);
}

constexpr unsigned kFarthest = 256;  // generations a thief looks up

// The task may be somebody else's by now: then the answer is not used, but what is read must be a
// task, and the walk must end.
bool is_below(const Task& task, const Task& ancestor, unsigned farthest) {
  const Task* above = &task;
  for (unsigned i = 0; i < farthest; ++i) {
    above = above->parent;
    if (above == &ancestor) return true;
    if (!above || above->implicit) return false;
  }
  return false;
}

// For a task in a queue that the caller owns or has locked: however far up.
bool is_below(const Task& task, const Task& ancestor) {
  return task.depth > ancestor.depth && is_below(task, ancestor, task.depth - ancestor.depth);
}

struct AnyTask {
  bool operator()(const ExplicitTask&) const { return true; }
};
struct BelowTask {
  const Task& ancestor;
  bool operator()(const ExplicitTask& task) const { return is_below(task, ancestor, kFarthest); }
};

// Which task comes behind `before`, or at first.
ExplicitTask* behind(const TaskPool& pool, const ExplicitTask* before) {
  return before ? static_cast<ExplicitTask*>(before->next) : pool.first;
}
// `next` does from now on.
void link(TaskPool& pool, ExplicitTask* before, ExplicitTask* next) {
  if (before) {
    before->next = next;
  } else {
    pool.first = next;
  }
}

// Of a task in a member's queue: grows from one to the next; 0: not known.
void set_age(ExplicitTask& task, std::uint64_t age) {
  task.next = reinterpret_cast<ExplicitTask*>(age);
}
std::uint64_t age_of(const ExplicitTask& task) {
  return reinterpret_cast<std::uint64_t>(static_cast<ExplicitTask*>(task.next));
}

template <class Allowed>
ExplicitTask* take_shared(Team& team, Allowed&& allowed) {
  TaskPool* pool = pool_if_any(team);
  if (!pool || !pool->queued.load(std::memory_order_seq_cst)) return nullptr;
  ult::SpinGuard guard(pool->lock);
  ExplicitTask* before = nullptr;
  for (ExplicitTask* task = pool->first; task; before = task, task = task->next) {
    if (!allowed(*task)) continue;
    link(*pool, before, task->next);
    if (pool->last == task) pool->last = before;
    pool->queued.store(pool->queued.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return task;
  }
  return nullptr;
}

template <class Allowed>
ExplicitTask* steal_from(Team& team, unsigned number, Allowed&& allowed) {
  TaskDeque* deque = deque_if_any(team.members[number]);
  return deque && !deque->tasks.empty() ? deque->tasks.steal(allowed) : nullptr;
}

std::uint32_t next_random(TaskDeque& own) {
  std::uint32_t x = own.random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return own.random = x;
}

template <class Allowed>
ExplicitTask* steal_from_all(Member& member, TaskDeque& own, Allowed&& allowed) {
  Team& team = *member.team;
  // No team is empty. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
  std::uint32_t number = next_random(own) % team.size;
  for (unsigned i = 0; i < team.size; ++i, number = number + 1 < team.size ? number + 1 : 0) {
    if (number == member.number) continue;
    if (ExplicitTask* task = steal_from(team, number, allowed)) {
      own.victim = number;
      return task;
    }
  }
  return nullptr;
}

// Where it last found something, a few others, and now and then all. `thorough`: all were looked
// at.
template <class Allowed>
ExplicitTask* steal(Member& member, TaskDeque& own, bool& thorough, Allowed&& allowed) {
  constexpr unsigned kSmall = 8, kAllEvery = 8, kTries = 2;
  Team& team = *member.team;
  thorough = false;
  if (team.size == 1) {
    thorough = true;
    return nullptr;
  }
  if (own.victim < team.size && own.victim != member.number)
    if (ExplicitTask* task = steal_from(team, own.victim, allowed)) return task;
  if (team.size > kSmall && ++own.misses % kAllEvery != 0) {
    for (unsigned i = 0; i < kTries; ++i) {
      // No team is empty. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
      std::uint32_t number = next_random(own) % team.size;
      if (number == member.number) continue;
      if (ExplicitTask* task = steal_from(team, number, allowed)) {
        own.victim = number;
        return task;
      }
    }
    return nullptr;
  }
  thorough = true;
  return steal_from_all(member, own, allowed);
}

// Others may find as much where this one came from.
void found_elsewhere(Member& member, TaskDeque& own) {
  own.misses = 0;
  if (!ult::sleeping_carriers.load(std::memory_order_relaxed)) return;
  TaskDeque* victim = deque_if_any(member.team->members[own.victim % member.team->size]);
  if (victim && !victim->tasks.empty()) ult::call_for_pieces(*member.team);
}

// A thief that is beaten to an item gets nothing, though there may be more behind it.
bool anything_queued(Team& team) {
  for (unsigned i = 0; i < team.size; ++i) {
    TaskDeque* deque = deque_if_any(team.members[i]);
    if (deque && !deque->tasks.empty()) return true;
  }
  return false;
}

ExplicitTask* find_elsewhere(Member& member) {
  Team& team = *member.team;
  TaskDeque& own = deque_of(member);
  bool thorough;
  if (ExplicitTask* task = steal(member, own, thorough, AnyTask{})) {
    found_elsewhere(member, own);
    return task;
  }
  if (!thorough) return nullptr;
  team.pieces.store(0, std::memory_order_seq_cst);
  RealWorld::fence();  // [pieces-1]
  ExplicitTask* task = take_shared(team, AnyTask{});
  if (!task && team.size > 1) task = steal_from_all(member, own, AnyTask{});
  if (task || anything_queued(team)) team.pieces.store(1, std::memory_order_seq_cst);
  return task;
}

// In the order of their priority, behind those that have the same.
void insert(TaskPool& pool, ExplicitTask& task) {
  ult::SpinGuard guard(pool.lock);
  ExplicitTask* before = pool.last;
  if (before && before->priority < task.priority) {
    before = nullptr;
    while (ExplicitTask* next = behind(pool, before)) {
      if (next->priority < task.priority) break;
      before = next;
    }
  }
  task.next = behind(pool, before);
  link(pool, before, &task);
  if (!task.next) pool.last = &task;
  pool.queued.store(pool.queued.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
}

}  // namespace

TaskDeque& deque_of(Member& member) {
  if (TaskDeque* deque = member.deque) return *deque;
  auto* deque = ult::permanent_array<TaskDeque>(1);
  if (!deque) ult::out_of_memory("tasks");
  new (deque) TaskDeque;
  deque->random = static_cast<std::uint32_t>(member.gtid) * 2654435761u | 1;
  std::atomic_ref<TaskDeque*>(member.deque).store(deque, std::memory_order_release);
  return *deque;
}

TaskPool& pool_of(Team& team) {
  if (TaskPool* pool = pool_if_any(team)) return *pool;
  ult::SpinGuard guard(pools_lock);
  if (TaskPool* pool = pool_if_any(team)) return *pool;
  auto* pool = ult::permanent_array<TaskPool>(1);
  if (!pool) ult::out_of_memory("tasks");
  new (pool) TaskPool;
  std::atomic_ref<TaskPool*>(team.tasks).store(pool, std::memory_order_release);
  return *pool;
}

bool queue_task(Member& member, ExplicitTask& task) {
  Team& team = *member.team;
  bool ordered = team.long_tasks.load(std::memory_order_relaxed);
  set_age(task, ordered ? team.ages.fetch_add(1, std::memory_order_relaxed) + 1 : 0);
  if (__builtin_expect(task.priority > 0, 0)) {
    insert(pool_of(team), task);
  } else if (!deque_of(member).tasks.push(&task)) {
    if (settings().task_throttling) return false;
    insert(pool_of(team), task);
  }
  announce(team);
  return true;
}

void queue_for_all(ExplicitTask& task) {
  Team& team = *task.team;
  // Those who wait in tasks above sleep until the tasks they wait for are complete: they have to be
  // told that they can do it themselves. The records above stay while this one does, so the list is
  // gone through before anybody can take the task.
  TaskPool& pool = pool_of(team);
  ult::WaitList* lists[kFarthest];
  unsigned count = 0;
  for (Task* above = task.parent; above && count < kFarthest; above = above->parent) {
    lists[count++] = &above->childless;
    if (above->implicit) break;
  }
  insert(pool, task);
  RealWorld::fence();  // [pieces-1] [wait-1]
  team.pieces.store(1, std::memory_order_seq_cst);
  // Records are never given back: to wake somebody in vain is harmless.
  for (unsigned i = 0; i < count; ++i) lists[i]->wake_all();
  team.barrier.gates.wake_all();
  team.done.wake_all();
}

namespace {

constexpr std::uint64_t kLongTask = 100'000;  // ticks: 20 to 100 us

// Long tasks of all members are done in the order in which they were queued, as far as two
// queues tell: what is queued together mostly works on the same data, and a member that goes on
// with what its last task has left finds less of it in the caches than it loses of that.
ExplicitTask* take_older_elsewhere(Member& member) {
  constexpr unsigned kLooks = 8;
  Team& team = *member.team;
  TaskDeque& own = *member.deque;
  const ExplicitTask* first = own.tasks.oldest();
  const std::uint64_t age = first ? age_of(*first) : 0;
  if (!age) return nullptr;
  std::uint32_t number = own.victim;
  for (unsigned looks = 0; looks < kLooks; ++looks, ++number) {
    if (number >= team.size) number = 0;
    TaskDeque* deque = number == member.number ? nullptr : deque_if_any(team.members[number]);
    if (!deque || deque->tasks.empty()) continue;
    own.victim = number;
    auto is_older = [age](const ExplicitTask& task) {
      std::uint64_t other = age_of(task);
      return other && other < age;
    };
    return deque->tasks.steal(is_older);
  }
  return nullptr;
}

// Mostly a task of the member it last stole from.
void execute_from_elsewhere(Member& member, ExplicitTask& task) {
  TaskDeque& own = *member.deque;
  std::uint32_t victim = own.victim;
  bool could_be_at_once = !task.node && !task.priority && !task.detachable;
  std::uint64_t body = execute_stolen_task(member, task);
  Team& team = *member.team;
  if (body > kLongTask && !team.long_tasks.load(std::memory_order_relaxed))
    team.long_tasks.store(true, std::memory_order_relaxed);
  if (!could_be_at_once || !own.stolen.short_again(victim, body)) return;
  team.long_tasks.store(false, std::memory_order_relaxed);
  if (victim >= team.size) return;
  if (TaskDeque* deque = deque_if_any(team.members[victim])) deque->grain.tell();
}

// Null only if none is left.
ExplicitTask* take_oldest(TaskDeque& own) {
  while (!own.tasks.empty())
    if (ExplicitTask* task = own.tasks.steal(AnyTask{})) return task;
  return nullptr;
}

}  // namespace

bool run_task(Member& member) {
  Team& team = *member.team;
  ExplicitTask* others = nullptr;
  ExplicitTask* task = take_shared(team, AnyTask{});
  if (!task && member.deque) {
    if (team.long_tasks.load(std::memory_order_relaxed)) others = take_older_elsewhere(member);
    if (!others) task = take_oldest(*member.deque);
  }
  if (task) {
    execute_task(member, *task);
    return true;
  }
  if (!others && team.pieces.load(std::memory_order_relaxed)) others = find_elsewhere(member);
  if (!others) return false;
  execute_from_elsewhere(member, *others);
  return true;
}

bool run_task_below(Member& member) {
  Team& team = *member.team;
  const Task& current = *member.task;
  ExplicitTask* task =
      take_shared(team, [&](ExplicitTask& candidate) { return is_below(candidate, current); });
  if (!task && member.deque) {
    // What is below the current task was queued after all that is not. A thief may take it while it
    // is looked at: then there is nothing to pop.
    ExplicitTask* newest = member.deque->tasks.newest();
    if (newest && is_below(*newest, current)) task = member.deque->tasks.pop();
  }
  if (!task && team.size > 1 && team.pieces.load(std::memory_order_relaxed)) {
    bool thorough;
    TaskDeque& own = deque_of(member);
    if (ExplicitTask* stolen = steal(member, own, thorough, BelowTask{current})) {
      found_elsewhere(member, own);
      execute_from_elsewhere(member, *stolen);
      return true;
    }
  }
  if (!task) return false;
  execute_task(member, *task);
  return true;
}

}  // namespace roost::omp
