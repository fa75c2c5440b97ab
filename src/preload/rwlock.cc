// pthread_rwlock_*: libc's own state; only the waiting is Roost's.
//
// lock: libc's try variant, else the lot, and try again. unlock: libc's unlock, then wake the
// oldest waiter, and with a reader all readers: as in glibc, readers never wait for a writer that
// waits, so those that have the lock may wait for those that come. Only a lock that prefers writers
// (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) is busy to readers while a writer waits, and wakes
// them no further than to the next writer.
// Process-shared locks wait in libc's own call with the core given away; for light threads with
// siblings, which may hold them, in the lot with a look now and then.
#include <errno.h>

#include "preload/wait.h"

namespace roost {
namespace {

enum Tag : std::uint32_t { kReader, kWriter };

// glibc since 2.25 (sysdeps/nptl/bits/struct_rwlock.h): readers count from bit 3 of __readers.
bool shared(const pthread_rwlock_t* lock) { return lock->__data.__shared != 0; }
bool prefers_writers(const pthread_rwlock_t* lock) {
  return lock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}
bool has_readers(const pthread_rwlock_t* lock) {
  return __atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED) >> 3;
}
bool written_by_me(const pthread_rwlock_t* lock) {
  if (has_light_siblings()) return false;  // perhaps by one of them, to libc the same
  int tid = own_tid();
  return __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED) == tid;
}

// Under the bucket's lock.
bool writer_waits(const pthread_rwlock_t* lock) {
  LotBucketOf& bucket = bucket_of(lock);
  for (LotWaiter* w = bucket.first(lock); w; w = bucket.find(w->next, lock)) {
    if (w->tag == kWriter) return true;
  }
  return false;
}

int attempt(pthread_rwlock_t* lock, Tag tag) {
  return tag == kReader ? real::pthread_rwlock_tryrdlock(lock)
                        : real::pthread_rwlock_trywrlock(lock);
}

void wake_waiters(const void* key, std::uint32_t) {
  auto* lock = static_cast<const pthread_rwlock_t*>(key);
  bool reader_woken = false, writer_woken = false;
  LotHost host;
  wake_retry<RealWorld>(bucket_of(key), key, host, [&](LotWaiter& waiter) {
    if (writer_woken) return Choice::stop;  // it goes alone
    if (waiter.tag == kReader) {
      reader_woken = true;
      return Choice::wake;
    }
    // Only once the readers are gone: the last of them wakes it.
    if (reader_woken || has_readers(lock)) {
      return prefers_writers(lock) ? Choice::stop : Choice::skip;
    }
    if (waiter.woken.load(std::memory_order_relaxed)) return Choice::stop;
    writer_woken = true;
    return Choice::wake;
  });
}

// A woken writer that finds the lock read again wakes the readers it was woken before.
class Host : public LotHost {
 public:
  using LotHost::LotHost;
  WaitResult sleep(LotWaiter& waiter) {
    auto* lock = static_cast<const pthread_rwlock_t*>(waiter.key);
    if (waiter.tag == kWriter && waiter.failures != 0 && has_readers(lock)) wake_waiters(lock, 1);
    return LotHost::sleep(waiter);
  }
};

// EBUSY: look again.
int lock_in_lot(pthread_rwlock_t* lock, Tag tag, const Deadline* deadline) {
  if (written_by_me(lock)) return EDEADLK;
  bool queued = false;
  LookNowAndThen look(deadline, shared(lock));
  Host host(look.deadline());
  host.waits_for("rwlock");
  int result = wait_retry<RealWorld>(
      bucket_of(lock), lock, tag, host, EBUSY,
      [&] {
        // A reader that has waited its turn may pass the writers behind it.
        bool polite = tag == kReader && !queued && prefers_writers(lock) && writer_waits(lock);
        queued = true;
        return polite ? EBUSY : attempt(lock, tag);
      },
      why_gave_up);
  // A writer that gives up may have been all that kept readers waiting.
  bool gave_up = result == ETIMEDOUT || result == ECANCELED;
  if (gave_up && tag == kWriter) wake_waiters(lock, 1);
  if (result == ECANCELED) act_on_cancel();
  return gave_up && !(result == ETIMEDOUT && look.is_over()) ? EBUSY : result;
}

int lock_fast(pthread_rwlock_t* lock, Tag tag) {
  if (tag == kReader && prefers_writers(lock) && lot.may_have_waiters(lock)) return EBUSY;
  return attempt(lock, tag);
}

template <class LibcCall>
int acquire(pthread_rwlock_t* lock, Tag tag, const Deadline* deadline, LibcCall&& libc) {
  int result = lock_fast(lock, tag);
  while (__builtin_expect(result == EBUSY, 0)) {
    if (inside_roost()) return without_core(libc);
    if (shared(lock) && !(is_light() && let_siblings_go_first())) return without_core(libc);
    result = lock_in_lot(lock, tag, deadline);
  }
  return result;
}

template <class LibcCall>
int timed(pthread_rwlock_t* lock, Tag tag, clockid_t clock, const timespec* at, LibcCall&& libc) {
  if (!supported(clock) || !valid(at)) return EINVAL;  // also of a free lock, as in glibc
  Deadline deadline = deadline_of(at, clock);
  return acquire(lock, tag, &deadline, libc);
}

}  // namespace

ROOST_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  if (prefers_writers(lock) && !inside_roost() && lot.may_have_waiters(lock)) {
    LotBucketOf& bucket = bucket_of(lock);
    bucket.acquire();
    bool busy = writer_waits(lock);
    bucket.release();
    if (busy) return EBUSY;
  }
  return real::pthread_rwlock_tryrdlock(lock);
}
ROOST_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return acquire(lock, kReader, nullptr, [&] { return real::pthread_rwlock_rdlock(lock); });
}
ROOST_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return acquire(lock, kWriter, nullptr, [&] { return real::pthread_rwlock_wrlock(lock); });
}
ROOST_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* at) noexcept {
  return timed(lock, kReader, CLOCK_REALTIME, at,
               [&] { return real::pthread_rwlock_timedrdlock(lock, at); });
}
ROOST_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* at) noexcept {
  return timed(lock, kWriter, CLOCK_REALTIME, at,
               [&] { return real::pthread_rwlock_timedwrlock(lock, at); });
}
ROOST_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                            const timespec* at) noexcept {
  return timed(lock, kReader, clock, at,
               [&] { return real::pthread_rwlock_clockrdlock(lock, clock, at); });
}
ROOST_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                            const timespec* at) noexcept {
  return timed(lock, kWriter, clock, at,
               [&] { return real::pthread_rwlock_clockwrlock(lock, clock, at); });
}

ROOST_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  int result = real::pthread_rwlock_unlock(lock);
#if !defined(__x86_64__)
  RealWorld::fence();  // [lot-1]
#endif
  if (result == 0 && __builtin_expect(lot.may_have_waiters(lock), 0)) {
    if (inside_roost()) {
      defer_wake(wake_waiters, lock, 1);
    } else {
      wake_waiters(lock, 1);
    }
  }
  return result;
}

}  // namespace roost
