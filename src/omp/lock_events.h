// The locks of critical, atomic and API, as a tool is told of them.
#pragma once

#include "omp/lock.h"
#include "omp/ompt.h"

namespace roost::omp {

inline void acquire_as(ompt::Mutex kind, Lock& lock) {
  ompt::Acquire event(kind, &lock);
  lock.acquire();
}
inline void release_as(ompt::Mutex kind, Lock& lock) {
  lock.release();
  ompt::released(kind, &lock);
}

}  // namespace roost::omp
