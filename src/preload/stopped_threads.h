// Programs that stop their threads by signals whose handlers wait until they may go on: garbage
// collectors' (libgc, Mono, JavaScriptCore, D), profilers'.
#pragma once

#include "sched/self.h"

namespace roost {

// The process has objects that may do so, and whether they have been seen to.
extern std::atomic<bool> may_stop_threads;
extern std::atomic<bool> stops_threads;

// Looks for such objects. Not on arbitrary threads: takes the dynamic linker's lock.
void look_for_who_stops_threads();

// Handlers of signals that only programs send may do the same unforeseen. How long at most nobody
// need look for wake-ups that such a one has left, in ns. For who looks.
Nanoseconds until_handlers_are_overdue();

void keep_handlers_out();
// Before a thread is sent a signal. In handlers, too.
inline void before_signal_to_thread() {
  if (__builtin_expect(may_stop_threads.load(std::memory_order_relaxed), 0) &&
      !stops_threads.load(std::memory_order_relaxed))
    keep_handlers_out();
}

}  // namespace roost
