// What the two halves of the runtime, that of the process (runtime.cc) and that of its threads
// (runtime_threads.cc), have of each other besides runtime.h.
#pragma once

#include "sched/runtime.h"

namespace roost {

// In a forked child: the caller is managed no more, and alone.
void runtime_forget_threads();

}  // namespace roost
