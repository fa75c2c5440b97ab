// EEVDF: who runs next on a core, and when a running thread is preempted.
#include "sim/linux_scheduler.h"

#include <algorithm>
#include <cassert>

namespace roost::sim {
namespace {

constexpr std::uint32_t kNotCrowded = ~0u;

}  // namespace

void LinuxScheduler::attach(World& world) {
  world_ = &world;
  info_ = world.machine().core_info();
  queues_ = std::vector<RunQueue>(world.n_cores());
  crowded_at_.assign(world.n_cores(), kNotCrowded);
  for (RunQueue& rq : queues_) {
    rq.average_idle = 1'000'000'000;
    // Before the program, the core was used by others, who left it while it was fast.
    rq.tick_mhz = world.machine().nominal_mhz;
  }
}

// Keeps the list of cores that have somebody to give away.
void LinuxScheduler::note_length(CoreIndex core) {
  bool crowded = queues_[core].n() >= 2;
  std::uint32_t& at = crowded_at_[core];
  if (crowded == (at != kNotCrowded)) return;
  if (crowded) {
    at = static_cast<std::uint32_t>(crowded_.size());
    crowded_.push_back(core);
  } else {
    crowded_[at] = crowded_.back();
    crowded_at_[crowded_[at]] = at;
    crowded_.pop_back();
    at = kNotCrowded;
  }
}

void LinuxScheduler::update(RunQueue& rq) {
  if (rq.running == kNoThread) return;
  auto ran = static_cast<Virtual>(world_->now() - rq.since);
  rq.since = world_->now();
  rq.sum += ran;
  if (rq.resting) {  // they took turns
    Virtual takers = 1;
    for (const auto& [deadline, thread] : rq.by_deadline)
      takers += world_->waits_by_yielding(thread);
    Virtual part = ran / takers;
    for (const auto& [deadline, thread] : rq.by_deadline) {
      if (!world_->waits_by_yielding(thread)) continue;
      entities_[thread].vruntime += part;
      ran -= part;
    }
  }
  Entity& running = entities_[rq.running];
  running.vruntime += ran;
  if (running.vruntime < running.deadline) return;
  running.deadline = running.vruntime + slice();
  rq.slice_over = !rq.by_deadline.empty();  // alone, it just gets the next
}

// place_entity(): keeps the lag it left with, so that it neither gains nor loses by having slept.
void LinuxScheduler::enqueue(CoreIndex core, ThreadIndex thread, bool placed) {
  RunQueue& rq = queues_[core];
  update(rq);
  Entity& entity = entities_[thread];
  if (!placed) {
    auto n = static_cast<Virtual>(rq.n());
    Virtual lag = n ? entity.lag * (n + 1) / n : 0;
    entity.vruntime = average(rq) - lag;
    // A new thread begins with half a slice (PLACE_DEADLINE_INITIAL).
    entity.deadline = entity.vruntime + (entity.fresh ? slice() / 2 : slice());
    entity.fresh = false;
  }
  entity.core = core;
  rq.sum += entity.vruntime;
  rq.by_deadline.insert({entity.deadline, thread});
  note_length(core);
}

// Remembers the lag; the queue forgets the thread.
void LinuxScheduler::leave(RunQueue& rq, ThreadIndex thread) {
  Entity& entity = entities_[thread];
  Virtual limit = 2 * slice();
  entity.lag = std::clamp(average(rq) - entity.vruntime, -limit, limit);
  rq.zero = average(rq);
  rq.sum -= entity.vruntime;
  if (rq.running == thread) {
    rq.running = kNoThread;
    rq.resting = false;
  } else {
    rq.by_deadline.erase({entity.deadline, thread});
  }
}

// pick_eevdf() among those who wait: the earliest deadline of all eligible ones.
ThreadIndex LinuxScheduler::first(const RunQueue& rq) const {
  for (const auto& [deadline, thread] : rq.by_deadline) {
    if (eligible(rq, entities_[thread].vruntime)) return thread;
  }
  return kNoThread;
}

void LinuxScheduler::put_back(RunQueue& rq) {
  ThreadIndex thread = rq.running;
  rq.running = kNoThread;
  rq.resting = false;
  entities_[thread].last_ran = world_->now();
  rq.by_deadline.insert({entities_[thread].deadline, thread});
}

void LinuxScheduler::run(CoreIndex core, ThreadIndex thread, Nanoseconds latency) {
  RunQueue& rq = queues_[core];
  rq.by_deadline.erase({entities_[thread].deadline, thread});
  rq.running = thread;
  rq.slice_over = false;
  rq.since = rq.run_since = world_->now();
  world_->dispatch(core, thread, latency);
}

// The running thread has been on the core for long enough, or somebody better has come.
void LinuxScheduler::resched(CoreIndex core, Nanoseconds cost) {
  RunQueue& rq = queues_[core];
  ThreadIndex best = first(rq);
  if (best == kNoThread) return;
  const Entity& running = entities_[rq.running];
  bool keeps = eligible(rq, running.vruntime) && running.deadline < entities_[best].deadline;
  if (keeps) return;
  account_use(core);
  world_->take_off(core);
  put_back(rq);
  run(core, best, cost);
}

// The core's thread has left it: the next runs, or the core looks for work elsewhere.
void LinuxScheduler::next(CoreIndex core, Nanoseconds cost) {
  RunQueue& rq = queues_[core];
  note_length(core);
  ThreadIndex best = first(rq);
  // The average lies above the least vruntime, so that somebody is always eligible.
  assert(best != kNoThread || rq.by_deadline.empty());
  if (best == kNoThread) {
    rq.idle_since = world_->now();
    balance_idle(core);
    return;
  }
  run(core, best, cost);
}

// check_preempt_wakeup_fair(): a running thread that is eligible keeps the core until its slice is
// over (RUN_TO_PARITY); else the woken one takes it, if it is the one to pick.
void LinuxScheduler::check_preemption(CoreIndex core, ThreadIndex woken) {
  RunQueue& rq = queues_[core];
  update(rq);
  bool keeps = eligible(rq, entities_[rq.running].vruntime);
  if (rq.slice_over || (!keeps && first(rq) == woken))
    resched(core, world_->costs().switch_threads);
}

void LinuxScheduler::starts(ThreadIndex thread, ThreadIndex parent) {
  if (thread >= entities_.size()) entities_.resize(thread + 1);
  entities_[thread] = {};
  CoreIndex from = parent == kNoThread ? kNoCore : world_->core_of(parent);
  CoreIndex chosen = place_new(from == kNoCore ? CoreIndex{0} : from);
  chosen = stay_warm(thread, chosen, from);
  const Costs& costs = world_->costs();
  // The cost of its start has a wake-up on the starter's own core in it.
  if (parent != kNoThread && idle(chosen) && costs.wake_call > costs.wake_busy)
    world_->charge(costs.wake_call - costs.wake_busy);
  add(chosen, thread);
}

void LinuxScheduler::wakes(ThreadIndex thread, ThreadIndex waker) {
  CoreIndex waker_core = waker == kNoThread ? kNoCore : world_->core_of(waker);
  CoreIndex core = place_woken(entities_[thread].core, waker_core);
  core = stay_warm(thread, core, waker_core);
  world_->charge(idle(core) ? world_->costs().wake_call : world_->costs().wake_busy);
  add(core, thread);
}

void LinuxScheduler::blocks(ThreadIndex thread) {
  CoreIndex core = world_->core_of(thread);
  RunQueue& rq = queues_[core];
  update(rq);
  account_use(core);
  entities_[thread].last_ran = world_->now();
  world_->take_off(core);
  leave(rq, thread);
  next(core, world_->costs().switch_threads);
}

void LinuxScheduler::ends(ThreadIndex thread) { blocks(thread); }

// A core all of whose threads wait by yielding turns from one to the other. Nothing comes of these
// turns, so they are not simulated one by one: the thread that yields just now stands for all,
// until something changes (World::kick). The same on older kernels, where a thread loses nothing by
// a yield, while all others are not eligible: until the first of them is.
bool LinuxScheduler::rest_while_all_wait(CoreIndex core) {
  RunQueue& rq = queues_[core];
  Nanoseconds until = kForever;
  for (const auto& [deadline, thread] : rq.by_deadline) {
    if (world_->waits_by_yielding(thread)) continue;
    Virtual vruntime = entities_[thread].vruntime;
    if (world_->machine().yield_forfeits || eligible(rq, vruntime)) return false;
    // Each nanosecond that passes adds one to the sum, whoever runs.
    Virtual missing = vruntime * static_cast<Virtual>(rq.n()) - rq.sum;
    until = std::min(until, static_cast<Nanoseconds>(missing));
  }
  if (until == kForever) return true;
  until = std::max(until, world_->costs().yield_alone);
  world_->set_timer(world_->now() + until, kRetryYield, core);
  return true;
}

// yield_task_fair(). Since v6.18 an eligible thread gives up what is left of its slice and asks for
// the next one: its vruntime, and so the queue's average, moves on at once. Before, only its
// deadline moved by a slice.
void LinuxScheduler::give_up_slice(RunQueue& rq, Entity& self) {
  if (world_->machine().yield_forfeits) {
    if (!eligible(rq, self.vruntime)) return;
    rq.sum += self.deadline - self.vruntime;
    self.vruntime = self.deadline;
  }
  self.deadline += slice();
}

// The thread goes on if the kernel picks it again; if it waits, it then yields again.
bool LinuxScheduler::yields(ThreadIndex thread, bool waiting) {
  CoreIndex core = world_->core_of(thread);
  RunQueue& rq = queues_[core];
  if (rq.by_deadline.empty()) return false;
  update(rq);
  rq.resting = waiting && rest_while_all_wait(core);
  if (rq.resting) return false;
  Entity& self = entities_[thread];
  for (Nanoseconds cost = world_->costs().yield_switch;; cost += world_->costs().yield_alone) {
    give_up_slice(rq, self);
    ThreadIndex best = first(rq);
    bool again = best == kNoThread ||
                 (eligible(rq, self.vruntime) && self.deadline < entities_[best].deadline);
    if (again && waiting) continue;
    if (again) return false;
    account_use(core);
    world_->take_off(core);
    put_back(rq);
    run(core, best, cost);
    return true;
  }
}

void LinuxScheduler::released(ThreadIndex thread) { world_->kick(entities_[thread].core); }

void LinuxScheduler::ensure_tick(CoreIndex core) {
  RunQueue& rq = queues_[core];
  if (rq.ticking) return;
  rq.ticking = true;
  Nanoseconds period = world_->machine().kernel_tick;
  world_->set_timer((world_->now() / period + 1) * period, kTick, core);
}

void LinuxScheduler::tick(CoreIndex core) {
  RunQueue& rq = queues_[core];
  rq.ticking = false;
  if (rq.n() < 2) return;
  ++rq.ticks;
  update(rq);
  if (rq.slice_over) resched(core, world_->costs().switch_threads);
  push_away(core, rq.ticks % 4 == 0);
  if (rq.n() >= 2) ensure_tick(core);
}

void LinuxScheduler::timer(std::uint32_t what, std::uint32_t who, std::uint64_t stamp) {
  auto core = static_cast<CoreIndex>(who);
  if (what == kTick) {
    tick(core);
  } else if (what == kMoveOn) {
    if (entities_[who].placements == stamp) move_on(who);
  } else {
    world_->kick(core);
  }
}

}  // namespace roost::sim
