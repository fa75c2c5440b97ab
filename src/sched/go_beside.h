// What the calling thread does about its runs between waits in the kernel (sched/beside.h). Part of
// the runtime (runtime_threads.cc); nobody else calls these.
#pragma once

#include "sched/runtime.h"

namespace roost {

// Once the process has joined an instance.
void beside_bind(const Policy& policy);

// The caller, EXTERNAL, is back from the kernel, and goes on beside the owners of the cores. False
// if it is to have a core: one is free, its runs are long, or others are beside already.
bool go_beside();

// Around what it does between two waits in the kernel.
void begin_run();
void end_run();

}  // namespace roost
