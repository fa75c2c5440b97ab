// The ledger's Os for real threads of a test, each of which says which thread of the ledger it is.
#pragma once

#include "os/sys.h"
#include "sched/local_instance_test.h"

namespace roost {

inline thread_local ThreadIndex my_index = 0;

struct ThreadsOs {
  Nanoseconds now() { return os::now(); }
  Party self() { return my_index + 1; }
  ProcessIndex process() { return kNoProcess; }
  template <class Record>
  bool waits_in_vain(const Record&, Nanoseconds) {
    return false;
  }
  void wake(TestRecord& record) { os::futex_wake(&record.state, 1, os::FutexScope::process); }
  void pin(TestRecord& record, CoreIndex core) { record.pinned_to = core; }
  void relax(unsigned spins) { RealWorld::relax(spins); }
};
using ThreadsInstance = LocalInstanceOn<ThreadsOs>;

}  // namespace roost
