// S_move: threads stay on the core of whoever starts or wakes them while the core that was chosen
// for them is slow (NEST section 2.2; Gouicem et al., "Fewer Cores, More Hertz", USENIX ATC '20).
#include "sim/linux_scheduler.h"

namespace roost::sim {
namespace {

constexpr Nanoseconds kBriefDelay = 50'000;  // of ATC '20; NEST says "a brief delay"

}  // namespace

// The core for a thread for which CFS has chosen one; `from`: the core of whoever starts or wakes
// it. Slow is what ran below the nominal frequency at its last tick; an idle core has no ticks.
CoreIndex LinuxScheduler::stay_warm(ThreadIndex thread, CoreIndex chosen, CoreIndex from) {
  Entity& entity = entities_[thread];
  ++entity.placements;
  if (placement_ != Placement::smove || from == kNoCore || from == chosen || !idle(chosen) ||
      queues_[chosen].tick_mhz >= world_->machine().nominal_mhz)
    return chosen;
  entity.chosen = chosen;
  world_->set_timer(world_->now() + kBriefDelay, kMoveOn, thread, entity.placements);
  return from;
}

// The delay is over: to the chosen core, if the thread has not run since.
void LinuxScheduler::move_on(ThreadIndex thread) {
  const Entity& entity = entities_[thread];
  bool waits = queues_[entity.core].by_deadline.contains({entity.deadline, thread});
  bool has_run = entity.last_ran + kBriefDelay > world_->now();
  if (waits && !has_run && entity.core != entity.chosen) move(thread, entity.core, entity.chosen);
}

}  // namespace roost::sim
