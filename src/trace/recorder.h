// The trace of this process: a ring for each thread, in files of the folder `roost run --trace`
// made.
//
// Where a program is not recorded, record() costs the load of a thread-local word and a branch.
#pragma once

#include "trace/ring.h"

namespace roost::trace {

// The calling thread's; empty: it is not recorded.
extern constinit thread_local Ring<RealWorld> own_ring
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

inline bool recorded() { return __builtin_expect(static_cast<bool>(own_ring), 0); }

namespace slow {
void record(Event event);
}
inline void record(const Event& event) {
  if (recorded()) slow::record(event);
}

// At the start of the process: rings of `events` slots will lie in `folder`, which names the
// instance's threads. Null: nothing is recorded.
void configure(const char* folder, std::uint64_t events, const char* instance);
bool configured();

// The calling thread, which is managed from now on, gets a ring unless it has one. If there is no
// room for one, an empty file that nobody may write says so.
void thread_begins();
// It is about to end for good.
void thread_ends();
// In the child of a fork: the rings are the parent's.
void after_fork();

}  // namespace roost::trace
