// Locks by which a library lets one of its calls in at a time, though nothing needs that any more
// where the pieces of its calls are crews (preload/blas_calls.h).
//
// OpenBLAS for OpenMP counts the calls that are in gemm (from 0.3.22 on, driver/level3/
// level3_thread.c), and lets so many in, one as distributions build it. The last that may be in
// keeps the lock through which all come, and the first to leave gives it back. The count has a lock
// of its own. So the former may be given back at any time in between, by the one who has kept it:
// those who come then are counted, and go on.
#pragma once

#include <atomic>
#include <cstdint>

#include "omp/team.h"

namespace roost::omp {

// Where such locks are: from the first such library's begin to the last one's end.
struct CallLockRange {
  std::uintptr_t begin, end;
};
extern constinit std::atomic<const CallLockRange*> call_lock_range;  // null: nowhere; only grows

inline bool may_be_call_lock(const Lock* lock) {
  const CallLockRange* range = call_lock_range.load(std::memory_order_acquire);
  if (__builtin_expect(!range, 1)) return false;
  auto at = reinterpret_cast<std::uintptr_t>(lock);
  return at >= range->begin && at < range->end;
}

// The first of them that a member has taken, and not given back.
inline void call_lock_taken(Lock* lock) {
  if (!may_be_call_lock(lock)) return;
  Member& member = self();
  if (!member.call_lock) member.call_lock = lock;
}
// Before it is given back.
inline void call_lock_left(Lock* lock) {
  if (!may_be_call_lock(lock)) return;
  Member& member = self();
  if (member.call_lock == lock) member.call_lock = nullptr;
}

// From now on locks within a library, from `begin` to before `end`, may be such locks. Those that
// are held at this moment are not known. Any thread; nothing if there is no memory.
extern "C" void roost_call_locks_in(const void* begin, const void* end);

// Gives back the one that the caller holds, if it is in the library.
extern "C" void roost_give_call_lock_back(const void* begin, const void* end);

}  // namespace roost::omp
