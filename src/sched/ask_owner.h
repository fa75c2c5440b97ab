// Asking a thread by a signal whether it only waits by spinning (preload/nudge.cc).
#pragma once

#include "os/sys.h"
#include "sched/ledger.h"

namespace roost {

// A thread is asked if it owns `core`, or, with `core` kNoCore, if it is at large and uses the CPU.
inline bool may_be_asked(const ThreadRecord<RealWorld>& record, CoreIndex core, int pid, int tid) {
  std::uint32_t word = record.state.load(std::memory_order_seq_cst);
  if (core != kNoCore) return (word & ~kPermit) == running_on(core);
  return is_at_large(word) && os::thread_run_state(pid, tid) == 'R';
}

// Sends `signal` to the thread if it may be asked and does not block the signal. True if it was
// sent; record.nudged is 0 again once it has arrived.
//
// [nudge-1] It must not interrupt a call of the program's: a thread that leaves its core, or is at
// large no more, to wait sees that a signal is on its way and lets it pass first, or we see that it
// has left.
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
