// The Linux baseline's choice of cores: at fork, at wake-up, and by balancing (NEST section 2.1).
#include <algorithm>
#include <cassert>

#include "sim/linux_scheduler.h"

namespace roost::sim {
namespace {

constexpr Nanoseconds kMigrationCost = 500'000;  // sysctl_sched_migration_cost
constexpr Nanoseconds kHalfLife = 32'000'000;    // of PELT
constexpr unsigned kScan = 4;  // cores looked at for an idle one, if no whole core is idle

// value * 2^-(elapsed / 32 ms), close enough: halves, and linear in between.
std::uint64_t decayed(std::uint64_t value, Nanoseconds elapsed) {
  Nanoseconds halves = elapsed / kHalfLife;
  if (halves > 40) return 0;
  value >>= halves;
  return value - value * (elapsed % kHalfLife) / (2 * kHalfLife);
}

}  // namespace

std::uint64_t LinuxScheduler::recent_use(CoreIndex core) const {
  const RunQueue& rq = queues_[core];
  return decayed(rq.use, world_->now() - rq.use_at) * 1024 / kHalfLife;
}

// Before the running thread leaves the core.
void LinuxScheduler::account_use(CoreIndex core) {
  RunQueue& rq = queues_[core];
  Nanoseconds now = world_->now();
  rq.use = decayed(rq.use, now - rq.use_at) + std::min(now - rq.run_since, kHalfLife);
  rq.use = std::min(rq.use, kHalfLife);
  Nanoseconds tick = world_->machine().kernel_tick;
  if (placement_ == Placement::smove && now / tick != rq.run_since / tick)
    rq.tick_mhz = world_->mhz(core);
  rq.use_at = rq.run_since = now;
}

bool LinuxScheduler::whole_core_idle(CoreIndex core) const {
  CoreIndex sibling = world_->machine().sibling(core);
  return idle(core) && (sibling == kNoCore || idle(sibling));
}

// find_idlest_group(), find_idlest_group_cpu(): the NUMA node with most idle cores, the own one if
// none has more; in it a whole idle core, of those the least used lately, in numerical order from
// the forking core on.
CoreIndex LinuxScheduler::place_new(CoreIndex from) {
  const Machine& machine = world_->machine();
  unsigned size = machine.cores_per_node();
  unsigned own = info_[from].node, best_node = own, most_idle = 0, fewest = ~0u;
  for (unsigned step = 0; step < machine.nodes(); ++step) {
    unsigned node = (own + step) % machine.nodes();
    unsigned idle_cores = 0, threads = 0;
    for (unsigned core = node * size; core < (node + 1) * size; ++core) {
      idle_cores += idle(static_cast<CoreIndex>(core));
      threads += queues_[core].n();
    }
    bool better = most_idle ? idle_cores > most_idle : idle_cores || threads < fewest;
    if (step && !better) continue;
    best_node = node;
    most_idle = idle_cores;
    fewest = threads;
  }
  unsigned first = best_node * size;
  unsigned start = best_node == own ? from - first : 0;
  auto chosen = static_cast<CoreIndex>(first + start);
  auto rank = [&](CoreIndex core) {
    std::uint64_t kind = whole_core_idle(core) ? 0 : idle(core) ? 1 : 2 + queues_[core].n();
    return kind << 32 | recent_use(core);
  };
  std::uint64_t least = ~0ull;
  for (unsigned step = 0; step < size; ++step) {
    auto core = static_cast<CoreIndex>(first + (start + step) % size);
    std::uint64_t here = rank(core);
    if (here < least) {
      least = here;
      chosen = core;
    }
  }
  return chosen;
}

// select_idle_sibling(): among the cores that share the target's last-level cache.
CoreIndex LinuxScheduler::idle_in_cache(CoreIndex target) {
  const CoreInfo& info = info_[target];
  unsigned size = info.node_end - info.node_first;
  CoreIndex some = kNoCore;
  unsigned scanned = 0;
  for (unsigned step = 0; step < size; ++step) {
    auto core = static_cast<CoreIndex>(info.node_first + (target - info.node_first + step) % size);
    if (info_[core].llc != info.llc) continue;
    if (whole_core_idle(core)) return core;
    if (some == kNoCore && scanned++ < kScan && idle(core)) some = core;
  }
  if (some != kNoCore) return some;
  CoreIndex sibling = world_->machine().sibling(target);
  return sibling != kNoCore && idle(sibling) ? sibling : target;
}

// select_task_rq_fair(): wake_affine() chooses between the two cores, then an idle one nearby.
CoreIndex LinuxScheduler::place_woken(CoreIndex previous, CoreIndex waker) {
  CoreIndex target = previous;
  if (waker != kNoCore && waker != previous && !idle(previous) &&
      queues_[waker].n() <= queues_[previous].n()) {
    target = waker;
  }
  if (idle(target)) return target;
  if (idle(previous) && info_[previous].llc == info_[target].llc) return previous;
  return idle_in_cache(target);
}

// A thread that has come gets its place, runs if nobody else does, or preempts.
void LinuxScheduler::add(CoreIndex core, ThreadIndex thread) {
  RunQueue& rq = queues_[core];
  bool was_idle = rq.n() == 0;
  enqueue(core, thread, false);
  if (was_idle) {
    Nanoseconds idle_for = world_->now() - rq.idle_since;
    rq.average_idle =
        rq.average_idle - rq.average_idle / 8 + std::min(idle_for, kMigrationCost * 2) / 8;
    run(core, thread, world_->wake_latency(core));
    return;
  }
  check_preemption(core, thread);
  if (queues_[core].running != thread) world_->kick(core);
  ensure_tick(core);
}

// The waiting thread with the latest deadline that has not run a moment ago.
ThreadIndex LinuxScheduler::movable(const RunQueue& rq) const {
  for (auto it = rq.by_deadline.rbegin(); it != rq.by_deadline.rend(); ++it) {
    const Entity& entity = entities_[it->second];
    bool hot = entity.last_ran && world_->now() - entity.last_ran < kMigrationCost;
    if (!hot) return it->second;
  }
  return kNoThread;
}

void LinuxScheduler::move(ThreadIndex thread, CoreIndex from, CoreIndex to) {
  RunQueue& rq = queues_[from];
  update(rq);
  leave(rq, thread);
  note_length(from);
  bool was_idle = idle(to);
  enqueue(to, thread, false);
  if (was_idle) {
    bool halted = queues_[to].idle_since != world_->now();
    run(to, thread, halted ? world_->wake_latency(to) : world_->costs().switch_threads);
  } else {
    ensure_tick(to);
    world_->kick(to);
  }
}

// An idle core takes a thread from the most crowded core of [first, end).
bool LinuxScheduler::pull(CoreIndex to, CoreIndex first, CoreIndex end) {
  CoreIndex busiest = kNoCore;
  for (CoreIndex core : crowded_) {
    if (core < first || core >= end || core == to) continue;
    bool more = busiest == kNoCore || queues_[core].n() > queues_[busiest].n() ||
                (queues_[core].n() == queues_[busiest].n() && core < busiest);
    if (more) busiest = core;
  }
  if (busiest == kNoCore) return false;
  ThreadIndex thread = movable(queues_[busiest]);
  if (thread == kNoThread) return false;
  move(thread, busiest, to);
  return true;
}

// newidle_balance(): the own node, then the machine; not if the core is never idle for long.
void LinuxScheduler::balance_idle(CoreIndex core) {
  if (crowded_.empty() || queues_[core].average_idle < kMigrationCost) return;
  const CoreInfo& info = info_[core];
  if (!pull(core, info.node_first, info.node_end)) pull(core, 0, world_->n_cores());
}

// Periodic balancing, from the crowded side: to the emptiest core of the node, at every fourth tick
// of the machine.
void LinuxScheduler::push_away(CoreIndex from, bool everywhere) {
  const CoreInfo& info = info_[from];
  CoreIndex first = everywhere ? CoreIndex{0} : info.node_first;
  CoreIndex end = everywhere ? world_->n_cores() : info.node_end;
  CoreIndex emptiest = from;
  for (CoreIndex core = first; core < end; ++core) {
    if (queues_[core].n() < queues_[emptiest].n()) emptiest = core;
  }
  if (queues_[from].n() < queues_[emptiest].n() + 2) return;
  ThreadIndex thread = movable(queues_[from]);
  if (thread != kNoThread) move(thread, from, emptiest);
}

}  // namespace roost::sim
