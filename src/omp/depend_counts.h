// Who waits for whom among tasks with dependences: the counts by which a task starts once, after
// all that it depends on, and by which its node outlives everybody who knows it.
//
//   creator: sets a node up (awaits 1, uses 1: its own); put_before() for each it depends on;
//            let_go(): its own one. Whoever takes the last one away starts the task.
//   a task that is complete: finish() hands it those that wait for it; let_go() and drop() each.
//
// A task may be complete at any moment while another is set up behind it. Both look under its lock:
// either it is not complete, and will find the other in its list, or there is nothing to wait for.
// models/depend_counts.cc checks it.
#pragma once

#include <cstdint>
#include <utility>

#include "base/guard.h"
#include "base/world.h"

namespace roost::omp {

// Lock: acquire() and release(). Successors: a list of nodes, empty when made, guarded by the lock.
template <class W, class Lock, class Successors>
class DependCounts {
  template <class T>
  using Atomic = typename W::template atomic<T>;

 public:
  // Has `later` wait for this one, unless it is complete; `enlist(successors)` puts it in the list,
  // under the lock.
  template <class Enlist>
  void put_before(DependCounts& later, Enlist&& enlist) {
    GuardOf<Lock> guard(lock_);
    if (complete_) return;
    later.uses_.fetch_add(1, std::memory_order_relaxed);
    later.awaits_.fetch_add(1, std::memory_order_relaxed);
    enlist(successors_);
  }

  // The task is complete: those that wait for it, whom the caller lets go and drops.
  Successors finish() {
    GuardOf<Lock> guard(lock_);
    complete_ = true;
    return std::exchange(successors_, Successors{});
  }
  bool is_complete() {
    GuardOf<Lock> guard(lock_);
    return complete_;
  }

  // One that it waited for is complete, or its setting up is over. True if it waits for nothing.
  bool let_go() {
    // [depend-1] What the tasks before it did is visible to who takes the last one away.
    return awaits_.fetch_sub(1, std::memory_order_seq_cst) == 1;
  }
  bool waits() const { return awaits_.load(std::memory_order_seq_cst) != 0; }

  // Another one knows it: a set of tasks with the same dependence.
  void hold() { uses_.fetch_add(1, std::memory_order_relaxed); }
  // True if nobody knows it any more: its memory is the caller's.
  // [depend-2] What others did with it comes before whatever it is used for next.
  bool drop() { return uses_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  Atomic<std::uint32_t> uses_{1};    // sets and lists it is in, and its task
  Atomic<std::uint32_t> awaits_{1};  // tasks it waits for, and one while it is set up
  Lock lock_;
  bool complete_ = false;  // by the lock
  Successors successors_{};
};

}  // namespace roost::omp
