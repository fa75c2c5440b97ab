// What the OpenMP runtime writes into the calling thread's ring (trace/event.h).
#include "preload/real.h"
#include "trace/recorder.h"

namespace roost {

ROOST_EXPORT bool roost_trace_wanted() { return trace::configured(); }
ROOST_EXPORT void roost_trace(const trace::Event* event) { trace::record(*event); }

}  // namespace roost
