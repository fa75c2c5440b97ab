// Who watches a simulation: checkers, traces, statistics. Observers never steer.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace roost::sim {

enum class ObjectKind : std::uint8_t { mutex, semaphore, barrier, queue, device };

struct ObjectId {
  ObjectKind kind;
  std::uint32_t index;
};

// Work is in millionths of a cycle.
class Observer {
 public:
  virtual ~Observer() = default;

  // Before each event.
  virtual void time(Nanoseconds) {}
  // After each event, with all consequences drawn.
  virtual void at_rest() {}
  virtual void started(ThreadIndex, ProcessIndex) {}
  // The thread can run and has no core: it was started, woken, preempted, or has yielded.
  virtual void ready(ThreadIndex) {}
  virtual void dispatched(CoreIndex, ThreadIndex) {}
  // The thread's core is taken from it. What follows: ready, waits or ended.
  virtual void taken_off(CoreIndex, ThreadIndex) {}
  virtual void waits(ThreadIndex, bool in_kernel) { static_cast<void>(in_kernel); }
  virtual void ended(ThreadIndex) {}

  // In the order of an object's waiters.
  virtual void queued(ObjectId, ThreadIndex) {}
  virtual void served(ObjectId, ThreadIndex) {}

  // The core executed so much for the thread; the thread has done a step of so much.
  virtual void executed(ThreadIndex, std::uint64_t work) { static_cast<void>(work); }
  virtual void computed(ThreadIndex, std::uint64_t work) { static_cast<void>(work); }
  virtual void replied(Nanoseconds latency) { static_cast<void>(latency); }
};

}  // namespace roost::sim
