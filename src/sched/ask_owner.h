// Asking a thread by a signal whether it only waits by spinning (preload/nudge.cc).
#pragma once

#include "os/sys.h"
#include "sched/ledger.h"

namespace roost {

// A thread is asked if it owns `core`, or, with `core` kNoCore, if it is at large.
inline bool may_be_asked(const ThreadRecord<RealWorld>& record, CoreIndex core) {
  std::uint32_t word = record.state.load(std::memory_order_seq_cst);
  return core != kNoCore ? (word & ~kPermit) == running_on(core) : is_at_large(word);
}

// Sends `signal` to the thread if it may be asked, does not block the signal and, at large, uses
// the CPU. True if it was sent or is on its way: record.nudge.is_coming() until it has arrived. It
// interrupts no call that waits without a core [nudge-1], nor one made undisturbed [nudge-2].
inline bool ask_owner(ThreadRecord<RealWorld>& record, CoreIndex core, int pid, int tid,
                      int signal) {
  if (signal == 0 || os::signal_blocked(pid, tid, signal)) return false;
  if (core == kNoCore && os::thread_run_state(pid, tid) != 'R') return false;
  auto may_be_asked_still = [&] {
    return record.tid.load(std::memory_order_relaxed) == tid && may_be_asked(record, core);
  };
  return record.nudge.ask(may_be_asked_still, [&] { return os::tgkill(pid, tid, signal) == 0; });
}

}  // namespace roost
