// Locks of the API: C, Fortran, and LLVM's entry points.
//
// omp_lock_t has 4 bytes with gcc and 8 with clang, omp_nest_lock_t 16 and 8; in Fortran 4 and 8.
// The first 4 and 8 are used. Hints are accepted: the lock adapts by itself.
#include <new>

#include "omp/export.h"
#include "omp/kmpc.h"
#include "omp/lock.h"
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

int test(Lock* lock) { return lock->try_acquire() ? 1 : failed(); }

// The owner of a nestable lock: a member, which is what executes a task.
std::uint32_t owner() { return static_cast<std::uint32_t>(self().gtid) + 1; }

void set(NestLock* lock) { lock->acquire(owner()); }
int test(NestLock* lock) {
  std::uint32_t count = lock->try_acquire(owner());
  return count ? static_cast<int>(count) : failed();
}

}  // namespace

extern "C" {

ROOST_EXPORT void omp_init_lock(Lock* lock) { new (lock) Lock; }
ROOST_EXPORT void omp_init_lock_with_hint(Lock* lock, unsigned) { new (lock) Lock; }
ROOST_EXPORT void omp_destroy_lock(Lock*) {}
ROOST_EXPORT void omp_set_lock(Lock* lock) { lock->acquire(); }
ROOST_EXPORT void omp_unset_lock(Lock* lock) { lock->release(); }
ROOST_EXPORT int omp_test_lock(Lock* lock) { return test(lock); }

ROOST_EXPORT void omp_init_nest_lock(NestLock* lock) { new (lock) NestLock; }
ROOST_EXPORT void omp_init_nest_lock_with_hint(NestLock* lock, unsigned) { new (lock) NestLock; }
ROOST_EXPORT void omp_destroy_nest_lock(NestLock*) {}
ROOST_EXPORT void omp_set_nest_lock(NestLock* lock) { set(lock); }
ROOST_EXPORT void omp_unset_nest_lock(NestLock* lock) { lock->release(); }
ROOST_EXPORT int omp_test_nest_lock(NestLock* lock) { return test(lock); }

ROOST_EXPORT void omp_init_lock_(Lock* lock) { new (lock) Lock; }
ROOST_EXPORT void omp_init_lock_with_hint_(Lock* lock, const unsigned*) { new (lock) Lock; }
ROOST_EXPORT void omp_destroy_lock_(Lock*) {}
ROOST_EXPORT void omp_set_lock_(Lock* lock) { lock->acquire(); }
ROOST_EXPORT void omp_unset_lock_(Lock* lock) { lock->release(); }
ROOST_EXPORT std::int32_t omp_test_lock_(Lock* lock) { return test(lock); }

ROOST_EXPORT void omp_init_nest_lock_(NestLock* lock) { new (lock) NestLock; }
ROOST_EXPORT void omp_init_nest_lock_with_hint_(NestLock* lock, const unsigned*) {
  new (lock) NestLock;
}
ROOST_EXPORT void omp_destroy_nest_lock_(NestLock*) {}
ROOST_EXPORT void omp_set_nest_lock_(NestLock* lock) { set(lock); }
ROOST_EXPORT void omp_unset_nest_lock_(NestLock* lock) { lock->release(); }
ROOST_EXPORT std::int32_t omp_test_nest_lock_(NestLock* lock) { return test(lock); }

ROOST_EXPORT void __kmpc_init_lock(Ident*, std::int32_t, Lock* lock) { new (lock) Lock; }
ROOST_EXPORT void __kmpc_init_lock_with_hint(Ident*, std::int32_t, Lock* lock, std::uintptr_t) {
  new (lock) Lock;
}
ROOST_EXPORT void __kmpc_destroy_lock(Ident*, std::int32_t, Lock*) {}
ROOST_EXPORT void __kmpc_set_lock(Ident*, std::int32_t, Lock* lock) { lock->acquire(); }
ROOST_EXPORT void __kmpc_unset_lock(Ident*, std::int32_t, Lock* lock) { lock->release(); }
ROOST_EXPORT int __kmpc_test_lock(Ident*, std::int32_t, Lock* lock) { return test(lock); }

ROOST_EXPORT void __kmpc_init_nest_lock(Ident*, std::int32_t, NestLock* lock) {
  new (lock) NestLock;
}
ROOST_EXPORT void __kmpc_init_nest_lock_with_hint(Ident*, std::int32_t, NestLock* lock,
                                                  std::uintptr_t) {
  new (lock) NestLock;
}
ROOST_EXPORT void __kmpc_destroy_nest_lock(Ident*, std::int32_t, NestLock*) {}
ROOST_EXPORT void __kmpc_set_nest_lock(Ident*, std::int32_t, NestLock* lock) { set(lock); }
ROOST_EXPORT void __kmpc_unset_nest_lock(Ident*, std::int32_t, NestLock* lock) { lock->release(); }
ROOST_EXPORT int __kmpc_test_nest_lock(Ident*, std::int32_t, NestLock* lock) { return test(lock); }

}  // extern "C"
}  // namespace roost::omp
