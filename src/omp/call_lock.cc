// Where such locks are, and how they are given back.
#include "omp/call_lock.h"

#include <algorithm>

#include "omp/export.h"
#include "omp/lock.h"
#include "ult/memory.h"
#include "ult/spin_lock.h"

namespace roost::omp {

constinit std::atomic<const CallLockRange*> call_lock_range{nullptr};

namespace {

constinit ult::SpinLock growing;

}  // namespace

extern "C" ROOST_EXPORT void roost_call_locks_in(const void* begin, const void* end) {
  CallLockRange range{reinterpret_cast<std::uintptr_t>(begin),
                      reinterpret_cast<std::uintptr_t>(end)};
  ult::SpinGuard guard(growing);
  if (const CallLockRange* known = call_lock_range.load(std::memory_order_relaxed)) {
    if (range.begin >= known->begin && range.end <= known->end) return;
    range = {std::min(range.begin, known->begin), std::max(range.end, known->end)};
  }
  auto* grown = ult::permanent_array<CallLockRange>(1);
  if (!grown) return;
  *grown = range;
  call_lock_range.store(grown, std::memory_order_release);
}

extern "C" ROOST_EXPORT void roost_give_call_lock_back(const void* begin, const void* end) {
  if (!ult::here.local) return;
  Member& member = self();
  Lock* lock = member.call_lock;
  if (!lock || lock < begin || lock >= end) return;
  member.call_lock = nullptr;
  lock->release();
}

}  // namespace roost::omp
