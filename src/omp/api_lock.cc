// Locks of the API: C, Fortran, and LLVM's entry points.
//
// omp_lock_t has 4 bytes with gcc and 8 with clang, omp_nest_lock_t 16 and 8; in Fortran 4 and 8.
// The first 4 and 8 are used. Hints are accepted: the lock adapts by itself.
#include <new>

#include "omp/call_lock.h"
#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/lock_events.h"
#include "omp/team.h"

namespace roost::omp {
namespace {

// A program that polls must let those run whose locks it polls for: now and then.
int failed() {
  static constinit thread_local unsigned failures = 0;
  constexpr unsigned kYieldEvery = 8;
  if (++failures % kYieldEvery == 0) {
    ult::yield();
  } else {
    cpu_pause();
  }
  return 0;
}

using ompt::Mutex;

// `hint`: of the synchronisation, as the program gave it.
void init(Lock* lock, unsigned hint = 0) {
  new (lock) Lock;
  ompt::lock_begins(Mutex::lock, lock, hint);
}
void destroy(Lock* lock) { ompt::lock_ends(Mutex::lock, lock); }
void set(Lock* lock) {
  acquire_as(Mutex::lock, *lock);
  call_lock_taken(lock);
}
void unset(Lock* lock) {
  call_lock_left(lock);
  release_as(Mutex::lock, *lock);
}
int test(Lock* lock) {
  ompt::Acquire event(Mutex::test_lock, lock);
  if (lock->try_acquire()) return 1;
  event.failed();
  return failed();
}

// The owner of a nestable lock: the task, as the standard has it and libgomp. Tasks of LLVM's entry
// points own them with their member, as in libomp: programs take in an undeferred task what their
// member has. Implicit tasks have their members' names, records of explicit ones have numbers.
std::uint32_t owner() {
  Member& member = self();
  Task& current = *member.task;
  if (current.implicit) return static_cast<std::uint32_t>(member.gtid) + 1;
  auto& task = static_cast<ExplicitTask&>(current);
  if (task.locks_as_member) return static_cast<std::uint32_t>(member.gtid) + 1;
  constexpr std::uint32_t kExplicit = 0x8000'0000;
  static constinit std::atomic<std::uint32_t> records{0};
  if (!task.lock_owner)
    task.lock_owner = kExplicit | records.fetch_add(1, std::memory_order_relaxed);
  return task.lock_owner;
}

void init(NestLock* lock, unsigned hint = 0) {
  new (lock) NestLock;
  ompt::lock_begins(Mutex::nest_lock, lock, hint);
}
void destroy(NestLock* lock) { ompt::lock_ends(Mutex::nest_lock, lock); }
void set(NestLock* lock) {
  ompt::Acquire event(Mutex::nest_lock, lock);
  if (lock->acquire(owner()) > 1) event.nested();
}
void unset(NestLock* lock) {
  if (lock->release()) {
    ompt::released(Mutex::nest_lock, lock);
  } else {
    ompt::nest_lock_left(lock);
  }
}
int test(NestLock* lock) {
  ompt::Acquire event(Mutex::test_nest_lock, lock);
  std::uint32_t count = lock->try_acquire(owner());
  if (count > 1) event.nested();
  if (count) return static_cast<int>(count);
  event.failed();
  return failed();
}

}  // namespace

// An entry point: what it is called, and what it does. The event's place is its caller.
#define LOCK_CALL(result, name, parameters, call) \
  ROOST_EXPORT result name parameters {           \
    ompt::Entry entry;                            \
    return call;                                  \
  }

extern "C" {

// Without a tool, and with nobody else in the way, a lock costs two atomic operations.
ROOST_EXPORT void omp_set_lock(Lock* lock) {
  if (__builtin_expect(!ompt::on() && lock->try_acquire(), 1)) return call_lock_taken(lock);
  ompt::Entry entry;
  set(lock);
}
ROOST_EXPORT void omp_unset_lock(Lock* lock) {
  if (__builtin_expect(!ompt::on(), 1)) return unset(lock);
  ompt::Entry entry;
  unset(lock);
}

LOCK_CALL(void, omp_init_lock, (Lock * lock), init(lock))
LOCK_CALL(void, omp_init_lock_with_hint, (Lock * lock, unsigned hint), init(lock, hint))
LOCK_CALL(void, omp_destroy_lock, (Lock * lock), destroy(lock))
LOCK_CALL(int, omp_test_lock, (Lock * lock), test(lock))

LOCK_CALL(void, omp_init_nest_lock, (NestLock * lock), init(lock))
LOCK_CALL(void, omp_init_nest_lock_with_hint, (NestLock * lock, unsigned hint), init(lock, hint))
LOCK_CALL(void, omp_destroy_nest_lock, (NestLock * lock), destroy(lock))
LOCK_CALL(void, omp_set_nest_lock, (NestLock * lock), set(lock))
LOCK_CALL(void, omp_unset_nest_lock, (NestLock * lock), unset(lock))
LOCK_CALL(int, omp_test_nest_lock, (NestLock * lock), test(lock))

LOCK_CALL(void, omp_init_lock_, (Lock * lock), init(lock))
LOCK_CALL(void, omp_init_lock_with_hint_, (Lock * lock, const unsigned* hint), init(lock, *hint))
LOCK_CALL(void, omp_destroy_lock_, (Lock * lock), destroy(lock))
ROOST_EXPORT void omp_set_lock_(Lock* lock) __attribute__((alias("omp_set_lock")));
ROOST_EXPORT void omp_unset_lock_(Lock* lock) __attribute__((alias("omp_unset_lock")));
LOCK_CALL(std::int32_t, omp_test_lock_, (Lock * lock), test(lock))

LOCK_CALL(void, omp_init_nest_lock_, (NestLock * lock), init(lock))
LOCK_CALL(void, omp_init_nest_lock_with_hint_, (NestLock * lock, const unsigned* hint),
          init(lock, *hint))
LOCK_CALL(void, omp_destroy_nest_lock_, (NestLock * lock), destroy(lock))
LOCK_CALL(void, omp_set_nest_lock_, (NestLock * lock), set(lock))
LOCK_CALL(void, omp_unset_nest_lock_, (NestLock * lock), unset(lock))
LOCK_CALL(std::int32_t, omp_test_nest_lock_, (NestLock * lock), test(lock))

LOCK_CALL(void, __kmpc_init_lock, (Ident*, std::int32_t, Lock* lock), init(lock))
LOCK_CALL(void, __kmpc_init_lock_with_hint, (Ident*, std::int32_t, Lock* lock, std::uintptr_t hint),
          init(lock, static_cast<unsigned>(hint)))
LOCK_CALL(void, __kmpc_destroy_lock, (Ident*, std::int32_t, Lock* lock), destroy(lock))
LOCK_CALL(void, __kmpc_set_lock, (Ident*, std::int32_t, Lock* lock), set(lock))
LOCK_CALL(void, __kmpc_unset_lock, (Ident*, std::int32_t, Lock* lock), unset(lock))
LOCK_CALL(int, __kmpc_test_lock, (Ident*, std::int32_t, Lock* lock), test(lock))

LOCK_CALL(void, __kmpc_init_nest_lock, (Ident*, std::int32_t, NestLock* lock), init(lock))
LOCK_CALL(void, __kmpc_init_nest_lock_with_hint,
          (Ident*, std::int32_t, NestLock* lock, std::uintptr_t hint),
          init(lock, static_cast<unsigned>(hint)))
LOCK_CALL(void, __kmpc_destroy_nest_lock, (Ident*, std::int32_t, NestLock* lock), destroy(lock))
LOCK_CALL(void, __kmpc_set_nest_lock, (Ident*, std::int32_t, NestLock* lock), set(lock))
LOCK_CALL(void, __kmpc_unset_nest_lock, (Ident*, std::int32_t, NestLock* lock), unset(lock))
LOCK_CALL(int, __kmpc_test_nest_lock, (Ident*, std::int32_t, NestLock* lock), test(lock))

}  // extern "C"
}  // namespace roost::omp
