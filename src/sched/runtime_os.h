// The ledger's hands in a real process: futex wakes, kernel affinity, clock.
#pragma once

#include "os/sys.h"
#include "sched/ledger.h"
#include "sched/self.h"
#include "segment/thread_state.h"
#include "topo/cpu_set.h"
#include "trace/recorder.h"

namespace roost {

class RuntimeOs {
 public:
  RuntimeOs(const CoreInfo* cores, CoreIndex n_cores, PinMode mode)
      : cores_(cores), n_cores_(n_cores), mode_(mode) {}

  Nanoseconds now() { return os::now(); }
  Party self();
  ProcessIndex process();
  bool waits_in_vain(const ThreadRecord<RealWorld>&, Nanoseconds waited);
  // Whom a thread wakes may have its CPU at once, before it waits itself. Should it be granted
  // another core meanwhile, it has to be moved there, or it would run once the CPU it left has time
  // for it.
  void wake(ThreadRecord<RealWorld>& record) {
    ThreadRecord<RealWorld>* own = roost::self.record;
    bool hands_over = roost::self.parked && &record != own;
    Nanoseconds began = 0;
    if (hands_over) {
      announce_awake(*own);
      began = now();
    }
    os::futex_wake(&record.state, 1, os::FutexScope::shared);
    if (hands_over) waited_awake(*own, began);
  }
  // The thread `own` has stood in the kernel's run queue without a core since then. Returns when it
  // was granted one, or now.
  Nanoseconds waited_awake(ThreadRecord<RealWorld>& own, Nanoseconds began) {
    bool granted = state_of(own.state.load(std::memory_order_acquire)) == State::running;
    Nanoseconds end = granted ? own.granted_ns : now();
    if (end > began) {
      Nanoseconds before = own.awake_ns.load(std::memory_order_relaxed);
      own.awake_ns.store(before + end - began, std::memory_order_relaxed);
    }
    return end;
  }
  // `pinned_to` is the first of the cores that the mask holds.
  void pin(ThreadRecord<RealWorld>& record, CoreIndex core) {
    auto [first, end] = allowed_for(core);
    if (record.pinned_to == first) return;
    CpuSet mask;
    for (CoreIndex c = first; c < end; ++c) mask.set(cores_[c].os_cpu);
    os::set_affinity(record.tid.load(std::memory_order_relaxed), &mask, sizeof mask);
    record.pinned_to = first;
  }
  CoreIndex core_about_to_leave() const {
    if (!roost::self.leaves_soon.is_likely() || !roost::self.record) return kNoCore;
    std::uint32_t word = roost::self.record->state.load(std::memory_order_relaxed);
    return state_of(word) == State::running ? core_of(word) : kNoCore;
  }
  void relax(unsigned spins) { RealWorld::relax(spins); }
  void note(trace::Kind kind, const ThreadRecord<RealWorld>* thread, CoreIndex core) {
    if (!trace::recorded()) return;
    auto tid = thread ? thread->tid.load(std::memory_order_relaxed) : 0;
    trace::record({.kind = kind, .core = core, .a = static_cast<std::uint64_t>(tid)});
  }

 private:
  struct CoreRange {
    CoreIndex first, end;
  };
  CoreRange allowed_for(CoreIndex core) const {
    switch (mode_) {
      case PinMode::node:
        return {cores_[core].node_first, cores_[core].node_end};
      case PinMode::none:
        return {0, n_cores_};
      case PinMode::core:
        break;
    }
    return {core, static_cast<CoreIndex>(core + 1)};
  }

  const CoreInfo* cores_;
  CoreIndex n_cores_;
  PinMode mode_;
};

using RuntimeLedger = Ledger<RealWorld, RuntimeOs>;

// The process's ledger and its hands; valid while runtime_active().
RuntimeLedger& runtime_ledger();
RuntimeOs& runtime_os();

}  // namespace roost
