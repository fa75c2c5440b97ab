// What a scheduler is to the simulated world: told what threads do, it decides who has which core.
#pragma once

#include <string>

#include "base/types.h"

namespace roost::sim {

class World;

// The world calls these at the simulated instant at which the thing happens. A scheduler acts by
// World::dispatch, take_off, set_timer and charge (what a call costs the thread that makes it: a
// wake-up, say). A thread that blocks, ends or sleeps is on a
// core when its call comes, and off it when the call returns.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual std::string name() const = 0;

  // Once, before anything happens.
  virtual void attach(World&) = 0;

  // A new thread can run. `parent` has started it (kNoThread: the program begins).
  virtual void starts(ThreadIndex thread, ThreadIndex parent) = 0;
  // A blocked thread can run again. `waker` runs, or is kNoThread (an interrupt).
  virtual void wakes(ThreadIndex thread, ThreadIndex waker) = 0;
  virtual void blocks(ThreadIndex) = 0;
  virtual void enters_kernel(ThreadIndex) = 0;
  virtual void leaves_kernel(ThreadIndex) = 0;
  // sched_yield by a running thread; false if it keeps its core. `waiting`: it waits for a barrier
  // and calls this in each round.
  virtual bool yields(ThreadIndex, bool waiting) = 0;
  // A busy-waiting thread that has no core just now has got what it waits for.
  virtual void released(ThreadIndex) {}
  virtual void ends(ThreadIndex) = 0;
  virtual void timer(std::uint32_t what, std::uint32_t who, std::uint64_t stamp) = 0;

  // Threads that end are kept for the next start, which is cheaper then; else their stacks are, up
  // to a few.
  virtual bool keeps_threads() const { return false; }
  // Busy-waiting without yields is found out after this time and made to yield; 0: never.
  virtual Nanoseconds finds_spinning_after() const { return 0; }
  // A waiting thread that yields in vain tries again after this time at the latest; 0: only if
  // something is queued on its core (World::kick).
  virtual Nanoseconds yields_again_after() const { return 0; }
  // Who waits for a mutex queues in Roost's parking lot (world_objects.cc), else in the kernel.
  virtual bool has_parking_lot() const { return false; }
  // System calls outside libc cost a trap.
  virtual bool traps() const { return false; }
  // Ready threads whose core another thread shares; they do not count as waiting for a core.
  virtual unsigned sharing() const { return 0; }
  // For checks, at rest: an empty text if its own tables agree with each other and with the world.
  virtual std::string broken() { return ""; }
  // What the policy said that could not be followed, as a sentence; null if all was good.
  virtual const char* policy_fault() const { return nullptr; }
  // Promises that no core is idle while a thread is ready.
  virtual bool is_work_conserving() const { return false; }
};

}  // namespace roost::sim
