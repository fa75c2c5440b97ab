// The seat of this process, if it is a rank. Part of the runtime (runtime_threads.cc), which is
// told so by runtime_is_rank(); nobody else calls these.
#pragma once

#include "sched/runtime.h"

namespace roost {

// Once the process has joined an instance.
void seat_bind();

// Where the caller should wait, which yields; kNoCore: anywhere. A process has a seat if one of its
// threads yields and no other: teams are for several cores. [managed]
CoreIndex own_seat();

}  // namespace roost
