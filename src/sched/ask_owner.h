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
// sent; record.nudge.is_coming() until it has arrived. It interrupts no call that waits without a
// core [nudge-1], nor one that is made undisturbed [nudge-2].
inline bool ask_owner(ThreadRecord<RealWorld>& record, CoreIndex core, int pid, int tid,
                      int signal) {
  return signal != 0 && !os::signal_blocked(pid, tid, signal) &&
         record.nudge.ask([&] { return may_be_asked(record, core, pid, tid); },
                          [&] { return os::tgkill(pid, tid, signal) == 0; });
}

}  // namespace roost
