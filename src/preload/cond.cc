// pthread_cond_*: waits in the parking lot; the object itself is only asked for its clock and
// scope.
//
// wait: join the queue, unlock the mutex, sleep, lock again. A signal takes the oldest waiter out
// of the queue. Process-shared condition variables use libc's own wait with the core given away.
#include <errno.h>
#include <limits.h>
#include <stddef.h>

#include "preload/mutex.h"
#include "preload/wait.h"

namespace roost {
namespace {

// glibc since 2.25: the word __wrefs holds the scope in bit 0 and the clock in bit 1
// (nptl/pthread_cond_common.c). glibc 2.41 took out the two words before it, and the object is of
// the libc that runs, which need not be the one this was built with.
constinit std::size_t flags_at = offsetof(pthread_cond_t, __data.__wrefs) / sizeof(unsigned);

unsigned flags(const pthread_cond_t* cond) {
  return __atomic_load_n(reinterpret_cast<const unsigned*>(cond) + flags_at, __ATOMIC_RELAXED);
}
bool shared(const pthread_cond_t* cond) { return flags(cond) & 1; }
// From bit 3 on libc's waiters are counted: for objects of several processes, and callers that
// reach libc past Roost (RTLD_DEEPBIND, a handle of libc's).
bool libc_has_waiters(const pthread_cond_t* cond) { return flags(cond) >> 3; }
clockid_t clock_of(const pthread_cond_t* cond) {
  return flags(cond) & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

// A mutex that a condition variable's waiter will take again is in use: libc counts that, so that
// pthread_mutex_destroy says EBUSY (nptl/pthread_mutex_destroy.c). By the holder.
void count_user(pthread_mutex_t* mutex, unsigned change) { mutex->__data.__nusers += change; }

int wait(pthread_cond_t* cond, pthread_mutex_t* mutex, const Deadline* deadline) {
  test_cancel();
  LotHost host(deadline, false, true);
  host.waits_for("condition");
  LotWaiter waiter;
  waiter.key = cond;
  LotBucketOf& bucket = bucket_of(cond);
  begin_signal_wait<RealWorld>(bucket, waiter, host, [] { return true; });
  count_user(mutex, 1);
  int error = mutex_unlock(mutex);
  if (error) {
    count_user(mutex, -1u);
    // Not ours to wait with. Pass on a signal that may have come already.
    if (!leave_queue<RealWorld>(bucket, waiter)) {
      host.await_signal(waiter);
      cond_wake(cond, 1);
    }
    host.leaves();
    return error;
  }
  host.has_unlocked(mutex);
  WaitResult result = end_signal_wait<RealWorld>(bucket, waiter, host);
  error = lock_after_condition(mutex);
  if (result == WaitResult::cancelled) act_on_cancel();
  if (error) return error;
  return result == WaitResult::timed_out ? ETIMEDOUT : 0;
}

int timed_wait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  if (!valid(at)) return EINVAL;
  Deadline deadline = deadline_of(at, clock);
  return wait(cond, mutex, &deadline);
}

// Of a light thread that alone may have the mutex again, and whose siblings go on meanwhile. Other
// processes wake those who wait in libc: so this one wakes now and then for nothing, as it may.
int wait_beside_siblings(pthread_cond_t* cond, pthread_mutex_t* mutex, const Deadline* deadline) {
  LookNowAndThen look(deadline, true);
  int result = wait(cond, mutex, look.deadline());
  return result == ETIMEDOUT && !look.is_over() ? 0 : result;
}

template <class Call>
int wait_in_libc(pthread_cond_t* cond, pthread_mutex_t* mutex, const Deadline* deadline,
                 const Call& call) {
  if (has_light_siblings() && !any_thread_may_lock(mutex) && !inside_roost())
    return wait_beside_siblings(cond, mutex, deadline);
  mutex_waits_in_libc(mutex);
  return mutex_wait_in_libc(mutex, call, ETIMEDOUT);
}
template <class Call>
int timed_wait_in_libc(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock,
                       const timespec* at, const Call& call) {
  if (!valid(at)) return EINVAL;
  Deadline deadline = deadline_of(at, clock);
  return wait_in_libc(cond, mutex, &deadline, call);
}

void wake_deferred(const void* cond, std::uint32_t count) { cond_wake(cond, count); }

void wake(const pthread_cond_t* cond, std::uint32_t count) {
  if (!lot.may_have_waiters(cond)) return;
  if (inside_roost()) {
    defer_wake(wake_deferred, cond, count);
  } else {
    cond_wake(cond, count);
  }
}

}  // namespace

void find_condition_layout() {
  pthread_condattr_t attributes;
  pthread_cond_t fresh;
  if (pthread_condattr_init(&attributes) != 0) return;
  pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (pthread_cond_init(&fresh, &attributes) == 0) {
    const auto* words = reinterpret_cast<const unsigned*>(&fresh);
    for (std::size_t i = 0; i < sizeof fresh / sizeof *words; ++i)
      if (words[i] == 1) flags_at = i;
  }
  pthread_condattr_destroy(&attributes);
}

int lock_after_condition(pthread_mutex_t* mutex) {
  int error = mutex_lock(mutex);
  if (error == 0 || error == EOWNERDEAD) count_user(mutex, -1u);
  return error;
}

void cond_wake(const void* cond, std::uint32_t count) {
  LotHost host;
  signal_waiters<RealWorld>(bucket_of(cond), cond, count, host, [](LotWaiter&) { return true; });
}

int cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  if (shared(cond))
    return wait_in_libc(cond, mutex, nullptr, [&] { return real::pthread_cond_wait(cond, mutex); });
  return wait(cond, mutex, nullptr);
}

int cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex, const timespec* at) {
  if (shared(cond))
    return timed_wait_in_libc(cond, mutex, clock_of(cond), at,
                              [&] { return real::pthread_cond_timedwait(cond, mutex, at); });
  return timed_wait(cond, mutex, clock_of(cond), at);
}

int cond_signal(pthread_cond_t* cond) {
  if (libc_has_waiters(cond)) real::pthread_cond_signal(cond);
  wake(cond, 1);
  return 0;
}

int cond_broadcast(pthread_cond_t* cond) {
  if (libc_has_waiters(cond)) real::pthread_cond_broadcast(cond);
  wake(cond, UINT_MAX);
  return 0;
}

ROOST_EXPORT int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex,
                                        clockid_t clock, const timespec* at) {
  if (!supported(clock)) return EINVAL;
  if (shared(cond))
    return timed_wait_in_libc(cond, mutex, clock, at,
                              [&] { return real::pthread_cond_clockwait(cond, mutex, clock, at); });
  return timed_wait(cond, mutex, clock, at);
}

#if defined(__x86_64__)
// Two versions: today's, and the one of programs linked before 2003. The old object is only a
// pointer of libc's; as a key in the parking lot it serves as it is, and it knows neither clocks
// nor scopes.
#define ROOST_VERSIONED(name, version, prefix, arguments, call)                        \
  extern "C" __attribute__((visibility("default"), used)) int prefix##name arguments { \
    return call;                                                                       \
  }                                                                                    \
  asm(".symver " #prefix #name ",pthread_" #name version)
#define ROOST_NEW_COND(name, arguments, call) \
  ROOST_VERSIONED(name, "@@GLIBC_2.3.2", roost_new_, arguments, call)
#define ROOST_OLD_COND(name, arguments, call) \
  ROOST_VERSIONED(name, "@GLIBC_2.2.5", roost_old_, arguments, call)
ROOST_OLD_COND(cond_wait, (pthread_cond_t * cond, pthread_mutex_t* mutex),
               roost::wait(cond, mutex, nullptr));
ROOST_OLD_COND(cond_timedwait, (pthread_cond_t * cond, pthread_mutex_t* mutex, const timespec* at),
               roost::timed_wait(cond, mutex, CLOCK_REALTIME, at));
ROOST_OLD_COND(cond_signal, (pthread_cond_t * cond), (roost::wake(cond, 1), 0));
ROOST_OLD_COND(cond_broadcast, (pthread_cond_t * cond), (roost::wake(cond, UINT_MAX), 0));
#else
#define ROOST_NEW_COND(name, arguments, call) \
  ROOST_EXPORT int pthread_##name arguments { return call; }
#endif
ROOST_NEW_COND(cond_wait, (pthread_cond_t * cond, pthread_mutex_t* mutex),
               roost::cond_wait(cond, mutex));
ROOST_NEW_COND(cond_timedwait, (pthread_cond_t * cond, pthread_mutex_t* mutex, const timespec* at),
               roost::cond_timedwait(cond, mutex, at));
ROOST_NEW_COND(cond_signal, (pthread_cond_t * cond), roost::cond_signal(cond));
ROOST_NEW_COND(cond_broadcast, (pthread_cond_t * cond), roost::cond_broadcast(cond));

}  // namespace roost
