// Joining, detaching, cancelling, and the real end of a kernel thread.
#pragma once

#include "preload/thread.h"

namespace roost {

void wake_joiners(Thread*);
// By who has begun to join the thread, and will not: others may. Takes threads_lock.
void abandon_join(Thread*);
// Before the Thread may be freed: whoever created it still registers it, and may have been
// preempted there.
void await_creator(const Thread*);
// Destructor of Roost's own key: runs among the last destructors of a kernel thread that really
// ends.
void on_thread_end(void* thread);
// By a kernel thread that was in the cache and ends for want of use. `joined`: its Thread, if that
// is to be freed, or null.
void end_unused(Thread* joined);

}  // namespace roost
