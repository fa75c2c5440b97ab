// Waits of signal handlers that have interrupted the thread while it waited for a core itself
// (sched/PROTOCOL.md, "A handler that waits").
#pragma once

#include "sched/runtime.h"

namespace roost {

enum class HandlerWait : std::uint8_t {
  none,       // the caller's wait is of another kind
  away,       // the interrupted wait goes on, and is granted no core meanwhile
  gave_core,  // it had just been granted one
};

// Whether the caller is in such a handler.
inline bool interrupts_wait() {
  return self.parked && self.record && self.depth == 0 && !self.in_kernel;
}

// Before such a wait, and after it; the first one's result is for the second.
HandlerWait begin_handler_wait();
void end_handler_wait(HandlerWait);

}  // namespace roost
