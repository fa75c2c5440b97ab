// The thread is parked: its state is that of the wait that the handler has interrupted.
#include "sched/handler_wait.h"

#include "sched/grant_wait.h"
#include "sched/runtime_os.h"
#include "sched/runtime_trace.h"

namespace roost {

HandlerWait begin_handler_wait() {
  if (go_away(*self.record)) return HandlerWait::away;
  if (!has_core()) return HandlerWait::none;
  Critical critical;
  Held held = runtime_ledger().leave_core(self.index, State::external);
  note_left(trace::Kind::in_kernel, held.core);
  if (held.core != kNoCore) runtime_ledger().release(held);
  return HandlerWait::gave_core;
}

void end_handler_wait(HandlerWait wait) {
  if (wait == HandlerWait::away) come_back(*self.record);
  if (wait != HandlerWait::gave_core) return;
  hold_ready(*self.record, party_of_thread(self.index));
  make_self_ready();
  wait_for_grant(nullptr, false);
}

}  // namespace roost
