// pthread_mutex_*: libc's own lock word and rules; only the waiting is Roost's.
//
// lock: libc's trylock, or its lock while the process has one thread; if busy, wait in the lot and
// try again with a core in hand. unlock: libc's unlock, then wake one waiter unless one is already
// awake and on its way [lot-1]. A waiter keeps its place in the queue until it has the lock.
// Robust, priority-inheriting, priority-protected and process-shared mutexes wait in libc's own
// call with the core given away; for light threads with siblings, which one of them may hold it
// for, in the lot, with a look now and then, as others unlock them unseen.
// Uncontended cost over glibc: a call through a pointer, and one load at unlock.
#include "preload/mutex.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ROOST_HAS_ONE_THREAD __libc_single_threaded
#else  // glibc before 2.32
#define ROOST_HAS_ONE_THREAD false
#endif

#include "preload/blas.h"
#include "preload/light_owner.h"
#include "preload/wait.h"

namespace roost {
namespace {

// glibc's type bits (sysdeps/nptl/bits/struct_mutex.h, nptl/pthreadP.h; stable since 2.18).
constexpr int kTypeMask = 3;
constexpr int kErrorCheck = 2;
constexpr int kAdaptive = 3;
constexpr int kShared = 128;
constexpr int kRobust = 16, kInherit = 32, kProtect = 64;
constexpr int kOfThread = kRobust | kInherit | kProtect;
constexpr int kLibcWaits = kOfThread | kShared;

int kind(const pthread_mutex_t* mutex) {
  return __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
}

// A recursive or error-checking mutex is bound to the kernel's thread id, and so is what the kernel
// knows the owner of. A thread that ends with one locked is not reused: the next thread would pass
// for its owner.
bool knows_owner(const pthread_mutex_t* mutex) {
  int type = kind(mutex) & (kTypeMask | kOfThread);
  return type != 0 && type != kAdaptive;
}
// A robust one is taken where its last owner has died, too.
bool is_taken_by(int result) { return result == 0 || result == EOWNERDEAD; }
void note_owned(const pthread_mutex_t* mutex, int change) {
  if (Thread* t = this_thread()) t->owned_mutexes += change;
  if (__builtin_expect(own_light.self != nullptr, 0)) note_light_owner(mutex, change);
}

// Whether a robust mutex is not recoverable. That is for good.
constexpr int kNotRecoverable = 0x7ffffffe;
bool lost(const pthread_mutex_t* mutex) {
  return kind(mutex) & kRobust &&
         __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) == kNotRecoverable;
}
// Libc has just told the caller so. Its trylock has taken it nevertheless, and leaves it locked;
// its lock gives it back, but wakes nobody where it is marked as waited for (lll_unlock, which
// takes the word for a signed one): others would wait in libc for ever.
[[gnu::noinline, gnu::cold]] void leave_lost(pthread_mutex_t* mutex) {
  auto* word = reinterpret_cast<std::atomic<std::uint32_t>*>(&mutex->__data.__lock);
  std::uint32_t value = word->load(std::memory_order_relaxed);
  if ((value & FUTEX_TID_MASK) == static_cast<std::uint32_t>(own_tid()))
    word->store(0, std::memory_order_seq_cst);
  os::futex_wake(word, INT_MAX, os::FutexScope::shared);
}
// What a lock or a trylock of libc's for one that knows its owner has come to.
void note_taken(pthread_mutex_t* mutex, int result) {
  if (is_taken_by(result)) note_owned(mutex, 1);
  if (result == ENOTRECOVERABLE) leave_lost(mutex);
}

// The kernel knows the owner by the lock word; the other has none from a robust one's EOWNERDEAD
// until it is consistent.
bool held_by_this_thread(const pthread_mutex_t* mutex) {
  if (kind(mutex) & (kRobust | kInherit))
    return (__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) & FUTEX_TID_MASK) == own_tid();
  return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) == own_tid();
}
// To libc, light threads of one thread are the same owner.
bool held_by_sibling(const pthread_mutex_t* mutex) {
  return knows_owner(mutex) && held_by_this_thread(mutex) && !owned_by_this_light_thread(mutex);
}
// Not for one with an owner a light thread with siblings: what they hold, libc would take for its
// own.
bool waits_in_libc(const pthread_mutex_t* mutex) {
  return kind(mutex) & kLibcWaits && !(knows_owner(mutex) && has_light_siblings());
}

// While the process has one thread libc locks and unlocks without an atomic instruction; its
// trylock has one always.
bool free_to_the_only_thread(const pthread_mutex_t* mutex) {
  return ROOST_HAS_ONE_THREAD && kind(mutex) == PTHREAD_MUTEX_NORMAL &&
         __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 0;
}

// Who has kept a waiter from the mutex time and again queues behind it, once; not who holds it: the
// waiter waits for that one. The thread may hold it by a light thread that waited here.
bool gives_way(const pthread_mutex_t* mutex) {
  return self.give_way == mutex && !held_by_this_thread(mutex);
}

// The holder of a mutex is not preempted by its siblings: unless it blocked, it is at work on
// another core and soon done. Waiting for it here for about as long as a switch costs is at worst
// twice as dear as parking at once, and mostly far cheaper. Returns whether the mutex was seen
// free.
bool spin_while_held(const pthread_mutex_t* mutex) {
  if (runtime_segment().header->n_cores < 2) return false;
  constexpr int kSpins = 40;  // about 1 us
  for (int i = 0; i < kSpins; ++i) {
    if (__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 0) return true;
    cpu_pause();
  }
  return false;
}

// Whether the caller holds this error-checking mutex.
bool would_deadlock(const pthread_mutex_t* mutex) {
  return (kind(mutex) & kTypeMask) == kErrorCheck && held_by_this_thread(mutex) &&
         !(has_light_siblings() && held_by_sibling(mutex));
}

// [lot-1] between the unlock and the look for waiters; on x86-64 libc's locked exchange is a full
// fence, and without that it has no other thread to wait for it.
void wake_fence() {
#if !defined(__x86_64__)
  RealWorld::fence();
#endif
}

int lock_in_libc(pthread_mutex_t* mutex, const Deadline* deadline) {
  int result = mutex_wait_in_libc(mutex, [&] {
    if (!deadline) return real::pthread_mutex_lock(mutex);
    return deadline->realtime
               ? real::pthread_mutex_timedlock(mutex, &deadline->at)
               : real::pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &deadline->at);
  });
  if (knows_owner(mutex)) note_taken(mutex, result);
  return result;
}

int lock_contended(pthread_mutex_t* mutex, const Deadline* deadline) {
  constexpr int kHasMoved = -1;  // to libc: mutex_waits_in_libc(), or siblings have ended
  if (would_deadlock(mutex)) return EDEADLK;
  bool behind_another = gives_way(mutex);
  self.give_way = nullptr;
  if (!behind_another && self.record && spin_while_held(mutex)) {
    int result = mutex_trylock(mutex);
    if (result != EBUSY) return result;
  }
  LookNowAndThen look(deadline, kind(mutex) & kLibcWaits);
  LotHost host(look.deadline());
  host.waits_for("mutex");
  LotBucketOf& bucket = bucket_of(mutex);
  auto attempt = [&] {
    if (waits_in_libc(mutex)) return kHasMoved;
    if (behind_another) {
      behind_another = false;
      // A waiter on its way to the free mutex will take it, and its unlock wakes us.
      LotWaiter* first = bucket.first(mutex);
      if (first && first->woken.load(std::memory_order_relaxed)) return EBUSY;
    }
    return mutex_trylock(mutex);
  };
  blas_lock_waiters(1);
  int result = wait_retry<RealWorld>(bucket, mutex, 0, host, EBUSY, attempt, why_gave_up);
  blas_lock_waiters(-1);
  if (result == ECANCELED) act_on_cancel();
  if (result == ECANCELED || (result == ETIMEDOUT && !look.is_over()))
    return lock_contended(mutex, deadline);
  return result == kHasMoved ? lock_in_libc(mutex, deadline) : result;
}

int lock_busy(pthread_mutex_t* mutex, const Deadline* deadline) {
  if (inside_roost()) return lock_in_libc(mutex, deadline);
  if (kind(mutex) & kLibcWaits && is_light() && knows_owner(mutex)) let_siblings_go_first();
  if (waits_in_libc(mutex)) return lock_in_libc(mutex, deadline);
  return lock_contended(mutex, deadline);
}

// Threads that run take the mutex again before a woken waiter gets a core: that is what makes locks
// fast, but without preemption nothing would ever end it. After so many vain tries of a waiter...
constexpr std::uint32_t kPatience = 4;

void wake_next(const void* mutex, std::uint32_t) {
  LotHost host;
  bool first = true;
  wake_retry<RealWorld>(bucket_of(mutex), mutex, host, [&](LotWaiter& waiter) {
    if (first && waiter.failures >= kPatience) self.give_way = mutex;  // ...the unlocker gives way
    if (!first || waiter.woken.load(std::memory_order_relaxed)) return Choice::stop;
    first = false;
    return Choice::wake;
  });
}

// Apart from mutex_lock() and mutex_unlock(), so that these save no registers.
[[gnu::noinline]] int lock_among_threads(pthread_mutex_t* mutex) {
  if (__builtin_expect(lost(mutex), 0)) return ENOTRECOVERABLE;
  int result = __builtin_expect(gives_way(mutex), 0) ? EBUSY : mutex_trylock(mutex);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  return lock_busy(mutex, nullptr);
}

// After the caller has unlocked it. Returns 0.
[[gnu::noinline]] int wake_after_unlock(const pthread_mutex_t* mutex) {
  if (inside_roost()) {
    defer_wake(wake_next, mutex, 1);
  } else {
    wake_next(mutex, 1);
  }
  return 0;
}

[[gnu::noinline]] int unlock_owned(pthread_mutex_t* mutex) {
  // The holder of a recursive one has locked it more often: nothing for waiters yet. Looked at
  // before: the mutex may be gone after.
  bool stays_held = mutex->__data.__count > 1 && held_by_this_thread(mutex);
  int result = real::pthread_mutex_unlock(mutex);
  if (result != 0) return result;
  note_owned(mutex, -1);
  if (stays_held) return 0;
  wake_fence();
  return lot.may_have_waiters(mutex) ? wake_after_unlock(mutex) : 0;
}

}  // namespace

int mutex_timedlock(pthread_mutex_t* mutex, clockid_t clock, const timespec* at) {
  if (!supported(clock)) return EINVAL;
  if (lost(mutex)) return ENOTRECOVERABLE;
  int result = mutex_trylock(mutex);
  if (result != EBUSY) return result;
  if (!valid(at)) return would_deadlock(mutex) ? EDEADLK : EINVAL;
  Deadline deadline = deadline_of(at, clock);
  return lock_busy(mutex, &deadline);
}

int mutex_trylock(pthread_mutex_t* mutex) {
  if (has_light_siblings() && held_by_sibling(mutex)) return EBUSY;
  int result = real::pthread_mutex_trylock(mutex);
  if (__builtin_expect(knows_owner(mutex), 0)) note_taken(mutex, result);
  return result;
}

int mutex_lock(pthread_mutex_t* mutex) {
  if (free_to_the_only_thread(mutex)) return real::pthread_mutex_lock(mutex);
  return lock_among_threads(mutex);
}

int mutex_unlock(pthread_mutex_t* mutex) {
  if (__builtin_expect(knows_owner(mutex), 0)) return unlock_owned(mutex);
  int result = real::pthread_mutex_unlock(mutex);
  wake_fence();
  if (__builtin_expect(result == 0 && lot.may_have_waiters(mutex), 0))
    return wake_after_unlock(mutex);
  return result;
}

bool any_thread_may_lock(const pthread_mutex_t* mutex) { return !knows_owner(mutex); }

void note_owner(pthread_mutex_t* mutex) {
  __atomic_store_n(&mutex->__data.__owner, own_tid(), __ATOMIC_RELAXED);
}

void mutex_waits_in_libc(pthread_mutex_t* mutex) {
  if (kind(mutex) & kLibcWaits || inside_roost() || !held_by_this_thread(mutex)) return;
  __atomic_fetch_or(&mutex->__data.__kind, kShared, __ATOMIC_SEQ_CST);  // [lot-1]
  LotHost host;
  wake_retry<RealWorld>(bucket_of(mutex), mutex, host, [](LotWaiter&) { return Choice::wake; });
}

ROOST_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  self.last_locked = mutex;  // blas_calls.cc
  return mutex_lock(mutex);
}
ROOST_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) { return mutex_trylock(mutex); }
ROOST_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) { return mutex_unlock(mutex); }
ROOST_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* at) {
  return mutex_timedlock(mutex, CLOCK_REALTIME, at);
}
ROOST_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                         const timespec* at) {
  return mutex_timedlock(mutex, clock, at);
}

}  // namespace roost
