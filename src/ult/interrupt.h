// Lets siblings run beside a strand that keeps its thread, where there is no Roost to see to it.
//
// A member that waits in a loop of the program's own, or in the kernel by a call of libc's, may
// wait for a strand of the same carrier. Its thread is asked by a signal, whose handler goes on
// with siblings if the interrupted strand provably waits: its loop repeats its state
// (spin/wait_proof.h), or it is in a system call that may last. It goes back into the loop or the
// call, which the kernel repeats, when its turn comes.
//
// The signal is SIGURG, as under Roost (preload/nudge.cc), unless the program has an action for it.
// Calls that signals end whatever the handler's flags say (poll, epoll_wait) may return EINTR.
#pragma once

#include "ult/carrier.h"

namespace roost::ult {

// Before the first request. The handler is installed once, if the program has none.
void interrupts_start();

// Asks a carrier's thread that has used the CPU for long. False if it cannot be asked.
bool interrupt_running(const Carrier& carrier);
// The same of one that sleeps in the kernel. `long_asleep`: also in calls that would return EINTR.
bool interrupt_sleeping(const Carrier& carrier, bool long_asleep);

// While this lives, the calling carrier's strand is not interrupted: this library is in a call of
// libc's.
class InRuntime {
 public:
  InRuntime() : own_(here.carrier), before_(own_ && own_->in_runtime) {
    if (own_) own_->in_runtime = true;
  }
  ~InRuntime() {
    if (own_) own_->in_runtime = before_;
  }
  InRuntime(const InRuntime&) = delete;
  InRuntime& operator=(const InRuntime&) = delete;

 private:
  Carrier* own_;
  bool before_;
};

}  // namespace roost::ult
