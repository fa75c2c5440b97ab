// unshare(2) and setns(2) for what only a process with one thread may: Roost's own threads in it
// end first.
#pragma once

#include "preload/thread.h"

namespace roost {

// Ends the kernel threads that wait for reuse and the keeper, if the program has no thread but the
// caller, and waits for that, two seconds at most. They are made anew when they are needed.
void end_own_threads();
// The same by a thread that has left scheduling, and so needs no keeper again.
void end_own_threads_after_detach();
// Whether these namespaces are for a process with one thread.
bool needs_single_thread(int flags);

// `call` is unshare(flags) or setns(descriptor, flags) in the kernel.
template <class Call>
auto enter_alone(int flags, const Call& call) {
  never_reuse_for_this_thread();
  if (needs_single_thread(flags)) end_own_threads();
  return call();
}

}  // namespace roost
