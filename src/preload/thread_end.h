// Joining, detaching, cancelling, and the real end of a kernel thread.
#pragma once

#include "preload/thread.h"

namespace roost {

void wake_joiners(Thread*);
// Destructor of Roost's own key: runs among the last destructors of a kernel thread that really
// ends.
void on_thread_end(void* thread);

}  // namespace roost
