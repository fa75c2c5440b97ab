// Giving up the core for others of the instance.
#pragma once

namespace roost {

// As sched_yield, for Roost's own use. Any thread.
void yield();

// For who polls and has found nothing: hands the core to a READY thread, if there is one and this
// thread has a core. Any thread.
void let_ready_thread_run();
// Or a sibling, if this is a light thread that has one to run.
void let_others_run();

}  // namespace roost
