// For tests in processes that join an instance.
#pragma once

#include <pthread.h>

#include "sched/runtime.h"

namespace roost {

inline constexpr LibcThreads kLibc = {pthread_create, pthread_mutex_clocklock,
                                      pthread_mutex_consistent, pthread_mutex_unlock};

// The instance that this process has joined.
inline Segment& segment() { return const_cast<Segment&>(runtime_segment()); }

}  // namespace roost
