// sem_*: libc's counter; only the waiting is Roost's.
//
// wait: libc's trywait, else the lot, and try again with a core in hand. post: libc's post, then
// wake the oldest waiter that is not awake yet. sem_post may be called in any signal handler.
// Process-shared and named semaphores wait in libc's own call with the core given away.
#include <errno.h>

#include "preload/wait.h"

namespace roost {
namespace {

// glibc since 2.21: a 64-bit counter, then `private` (0: this process only).
bool shared(const sem_t* sem) { return reinterpret_cast<const int*>(sem)[2] != 0; }

// 0 or EAGAIN; errno is left alone.
int try_wait(sem_t* sem) {
  int saved = errno;
  int result = real::sem_trywait(sem);
  errno = saved;
  return result == 0 ? 0 : EAGAIN;
}

int wait_in_lot(sem_t* sem, const Deadline* deadline) {
  LotHost host(deadline, true, true);
  host.waits_for("semaphore");
  int result = wait_retry<RealWorld>(
      bucket_of(sem), sem, 0, host, EAGAIN, [&] { return try_wait(sem); },
      [](WaitResult ended) {
        switch (ended) {
          case WaitResult::timed_out:
            return ETIMEDOUT;
          case WaitResult::interrupted:
            return EINTR;
          case WaitResult::cancelled:
            return ECANCELED;
          default:
            return EAGAIN;
        }
      });
  if (result == ECANCELED) {
    act_on_cancel();
    return wait_in_lot(sem, deadline);
  }
  if (result == 0) return 0;
  // glibc since 2.41 sends its signal to all whom it cancels, before Roost knows of the request.
  if (result == EINTR) pthread_testcancel();
  errno = result;
  return -1;
}

void wake_waiters(const void* sem, std::uint32_t count) {
  LotHost host;
  wake_retry<RealWorld>(bucket_of(sem), sem, host, [&](LotWaiter& waiter) {
    if (count == 0) return Choice::stop;
    if (waiter.woken.load(std::memory_order_relaxed)) return Choice::skip;
    --count;
    return Choice::wake;
  });
}

int timed_wait(sem_t* sem, clockid_t clock, const timespec* at) {
  if (!valid(at)) {  // also where the semaphore is free, as in glibc
    errno = EINVAL;
    return -1;
  }
  test_cancel();
  if (try_wait(sem) == 0) return 0;
  Deadline deadline = deadline_of(at, clock);
  return wait_in_lot(sem, &deadline);
}

}  // namespace

ROOST_EXPORT int sem_wait(sem_t* sem) {
  if (shared(sem) || inside_roost()) {
    if (try_wait(sem) == 0) return 0;
    return without_core_anywhere([&] { return real::sem_wait(sem); });
  }
  test_cancel();
  if (__builtin_expect(try_wait(sem) == 0, 1)) return 0;
  return wait_in_lot(sem, nullptr);
}

ROOST_EXPORT int sem_timedwait(sem_t* sem, const timespec* at) {
  if (shared(sem) || inside_roost())
    return without_core_anywhere([&] { return real::sem_timedwait(sem, at); });
  return timed_wait(sem, CLOCK_REALTIME, at);
}

ROOST_EXPORT int sem_clockwait(sem_t* sem, clockid_t clock, const timespec* at) {
  if (!supported(clock)) {
    errno = EINVAL;
    return -1;
  }
  if (shared(sem) || inside_roost())
    return without_core_anywhere([&] { return real::sem_clockwait(sem, clock, at); });
  return timed_wait(sem, clock, at);
}

ROOST_EXPORT int sem_post(sem_t* sem) noexcept {
  int result = real::sem_post(sem);
#if !defined(__x86_64__)
  RealWorld::fence();  // [lot-1]
#endif
  if (result == 0 && __builtin_expect(lot.may_have_waiters(sem), 0)) {
    if (inside_roost()) {
      defer_wake(wake_waiters, sem, 1);
    } else {
      wake_waiters(sem, 1);
    }
  }
  return result;
}

}  // namespace roost
