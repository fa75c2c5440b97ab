// What the calling thread writes into its trace of its own turns on a core.
#pragma once

#include "sched/self.h"
#include "trace/recorder.h"

namespace roost {

// Before the core is released: whoever has it next comes later (trace/PROTOCOL.md).
inline void note_left(trace::Kind kind, CoreIndex core) {
  if (!trace::recorded()) return;
  trace::Name in = trace::packed(self.waits_in);
  self.waits_in = nullptr;
  trace::record({.kind = kind, .core = core, .a = in.a, .b = in.b});
}

// After it has seen its grant.
inline void note_runs() {
  if (!trace::recorded()) return;
  std::uint32_t word = self.record->state.load(std::memory_order_relaxed);
  if (state_of(word) == State::running)
    trace::record({.kind = trace::Kind::running, .core = core_of(word)});
}

}  // namespace roost
