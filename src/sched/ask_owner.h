// Asking a thread by a signal whether it only waits by spinning (preload/nudge.cc).
#pragma once

#include "os/sys.h"
#include "sched/ledger.h"

namespace roost {

// A thread is asked if it owns `core`, or, with `core` kNoCore, if it uses the CPU without one: the
// watchdog had it share its core with others, and it has passed no scheduling point since.
inline bool may_be_asked(const ThreadRecord<RealWorld>& record, CoreIndex core, int pid, int tid) {
  std::uint32_t word = record.state.load(std::memory_order_seq_cst);
  if (core != kNoCore) return (word & ~kPermit) == running_on(core);
  return state_of(word) == State::external && os::thread_run_state(pid, tid) == 'R';
}

// Sends `signal` to the thread if it may be asked and does not block the signal. True if it was
// sent; record.nudged is 0 again once it has arrived.
//
// [nudge-1] It must not interrupt a call of the program's: a thread that leaves its core to wait
// sees that a signal is on its way and lets it pass first, or we see that it has left. Of one
// without a core we see it once it sleeps: a call it entered between its look and ours may still be
// interrupted, and is restarted if it can be.
inline bool ask_owner(ThreadRecord<RealWorld>& record, CoreIndex core, int pid, int tid,
                      int signal) {
  if (signal == 0 || os::signal_blocked(pid, tid, signal)) return false;
  record.nudged.store(1, std::memory_order_seq_cst);
  RealWorld::fence();
  if (may_be_asked(record, core, pid, tid) && os::tgkill(pid, tid, signal) == 0) return true;
  record.nudged.store(0, std::memory_order_relaxed);
  return false;
}

}  // namespace roost
