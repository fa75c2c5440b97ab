// The ledger's hands in a real process: futex wakes, kernel affinity, clock.
#pragma once

#include "os/sys.h"
#include "sched/ledger.h"
#include "topo/cpu_set.h"

namespace roost {

class RuntimeOs {
 public:
  explicit RuntimeOs(const CoreInfo* cores) : cores_(cores) {}

  Nanoseconds now() { return os::now(); }
  Party self();
  ProcessIndex process();
  bool waits_in_vain(const ThreadRecord<RealWorld>&, Nanoseconds waited);
  bool gone(Party);
  void wake(ThreadRecord<RealWorld>& record) {
    os::futex_wake(&record.state, 1, os::FutexScope::shared);
  }
  void pin(ThreadRecord<RealWorld>& record, CoreIndex core) {
    CpuSet mask;
    mask.set(cores_[core].os_cpu);
    os::set_affinity(record.tid.load(std::memory_order_relaxed), &mask, sizeof mask);
    record.pinned_to = core;
  }
  void relax(unsigned spins) { RealWorld::relax(spins); }

 private:
  const CoreInfo* cores_;
};

using RuntimeLedger = Ledger<RealWorld, RuntimeOs>;

// The process's ledger; valid while runtime_active().
RuntimeLedger& runtime_ledger();

}  // namespace roost
