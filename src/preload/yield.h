// Giving up the core for others of the instance.
#pragma once

namespace roost {

// As sched_yield, for Roost's own use. Any thread.
void yield();

}  // namespace roost
