// The parking lot of this process and how its waiters sleep and wake.
#include "preload/wait.h"

#include "os/sys.h"
#include "preload/thread_end.h"

namespace roost {

// Whole pages, for the kernel.
alignas(4096) constinit Lot lot;

namespace {
// The kernel gives a fork's child zeros in place of the lot's pages. To write them one by one would
// fault in each of them, half the cost of a fork.
bool lot_is_wiped = false;
}  // namespace

void lot_empties_at_fork() { lot_is_wiped = os::wipe_at_fork(&lot, sizeof lot); }

unsigned lot_after_fork() {
  unsigned abandoned = LotHost::abandon_all_after_fork();
  if (lot_is_wiped) return abandoned;
  lot.for_each_bucket([](LotBucketOf& bucket) {
    bucket.lock.store(0, std::memory_order_relaxed);
    bucket.count.store(0, std::memory_order_relaxed);
    bucket.head = bucket.tail = nullptr;
  });
  return abandoned;
}

// False if somebody keeps the bucket: a handler that waits may have interrupted him.
static bool acquire_soon(LotBucketOf& bucket) {
  constexpr unsigned kTries = 64;
  for (unsigned spins = 0; spins < kTries; ++spins) {
    if (bucket.try_acquire()) return true;
    RealWorld::relax(spins);
  }
  return false;
}

bool wake_all_who_retry() {
  bool all = true;
  lot.for_each_bucket([&](LotBucketOf& bucket) {
    if (bucket.count.load(std::memory_order_relaxed) == 0) return;
    // The bucket's lock keeps the waiters where they are; waking inside it is dear, and rare.
    if (!acquire_soon(bucket)) return void(all = false);
    for (LotWaiter* w = bucket.head; w; w = w->next) {
      if (!w->retries || w->woken.exchange(1, std::memory_order_acq_rel)) continue;
      LotHost::wake(w->thread, w);
    }
    bucket.release();
  });
  return all;
}

static bool is_before(const timespec& one, const timespec& other) {
  return one.tv_sec != other.tv_sec ? one.tv_sec < other.tv_sec : one.tv_nsec < other.tv_nsec;
}

constinit thread_local LotHost* LotHost::innermost_ = nullptr;

void LotHost::joins(LotBucketOf& bucket, LotWaiter& waiter) {
  forks_ = roost::self.forks;
  // Siblings of an OS thread come and go in any order, and jump while others wait.
  if (is_light()) return;
  bucket_ = &bucket;
  waiter_ = &waiter;
  outer_ = innermost_;
  innermost_ = this;
  wait_begins();
}

void LotHost::leaves() {
  // Mostly the first: but who switches stacks in a handler may leave them in another order.
  LotHost** at = &innermost_;
  while (*at && *at != this) at = &(*at)->outer_;
  if (!*at) return;
  *at = outer_;
  wait_ends();
}

pthread_mutex_t* LotHost::abandon_all() {
  if (inside_roost()) return nullptr;
  if (!is_light()) roost::self.waits = 0;  // siblings' go on
  pthread_mutex_t* unlocked = nullptr;
  while (LotHost* host = innermost_) {
    innermost_ = host->outer_;
    if (host->unlocked_) unlocked = host->unlocked_;
    abandon_lot_wait<RealWorld>(*host->bucket_, *host->waiter_, *host);
    if (host->joined_) abandon_join(host->joined_);
  }
  return unlocked;
}

unsigned LotHost::abandon_all_after_fork() {
  unsigned abandoned = 0;
  for (; LotHost* host = innermost_; ++abandoned) {
    innermost_ = host->outer_;
    abandon_after_fork(*host->waiter_);
  }
  return abandoned;
}

void LotHost::abandon_after_fork(LotWaiter& waiter) {
  waiter.queued = false;
  waiter.expelled = waiter.abandoned = true;
  waiter.woken.store(1, std::memory_order_relaxed);
}

WaitResult LotHost::sleep(LotWaiter& waiter) {
  if (waiter.thread == kNoThread) return sleep_unmanaged(waiter);
  if (is_light()) return sleep_beside_siblings(waiter);
  for (;;) {
    if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
    if (cancellable_ && cancel_requested()) return WaitResult::cancelled;
    roost::self.waits_in = object_;
    Park ended = park(deadline_, interruptible_, outside_);
    if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
    if (ended == Park::timed_out) return WaitResult::timed_out;
    if (ended == Park::interrupted) return WaitResult::interrupted;
  }
}

// Who cancels the thread cannot wake it, having no record to leave a permit in, nor the waiter,
// which is on its stack: so it looks at times.
WaitResult LotHost::sleep_unmanaged(LotWaiter& waiter) {
  constexpr Nanoseconds kLook = 20'000'000;
  bool realtime = deadline_ && deadline_->realtime;
  for (;;) {
    if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
    if (cancellable_ && cancel_requested()) return WaitResult::cancelled;
    const timespec* until = deadline_ ? &deadline_->at : nullptr;
    bool looks = false;
    timespec look{};
    if (cancellable_) {
      look = os::to_timespec(os::clock_ns(realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC) + kLook);
      looks = !until || is_before(look, *until);
      if (looks) until = &look;
    }
    HandlerWait wait = begin_wait_in_handler();
    int slept = os::futex_wait(&waiter.woken, 0, os::FutexScope::process, until, realtime);
    end_handler_wait(wait);
    if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
    if (slept == -ETIMEDOUT && !looks) return WaitResult::timed_out;
    if (slept == -EINTR && interruptible_) return WaitResult::interrupted;
  }
}

WaitResult LotHost::sleep_beside_siblings(LotWaiter& waiter) {
  LightWait wait(deadline_, outside_);
  for (;;) {
    // Of the caller's strand and its siblings, whose waits are in no order, the caller alone goes
    // on in the child.
    if (__builtin_expect(forks_ != roost::self.forks, 0)) abandon_after_fork(waiter);
    if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
    if (cancellable_ && cancel_requested()) return WaitResult::cancelled;
    if (wait.timed_out()) return WaitResult::timed_out;
    if (wait.word_changed()) return WaitResult::interrupted;
    if (wait.let_siblings_run()) continue;
    roost::self.waits_in = object_;
    Park ended = wait.park(interruptible_);
    if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
    if (ended == Park::interrupted) return WaitResult::interrupted;
  }
}

LookNowAndThen::LookNowAndThen(const Deadline* deadline, bool wanted) : deadline_(deadline) {
  constexpr Nanoseconds kLook = 1'000'000;
  if (!wanted || (deadline && left_until(*deadline) <= kLook)) return;
  look_ = {os::to_timespec(os::now() + kLook), false};
  deadline_ = &look_;
}

void LotHost::await_signal(LotWaiter& waiter) {
  // The signaller has taken the waiter out of the queue and is a few instructions from waking it.
  deadline_ = nullptr;
  outside_ = nullptr;
  interruptible_ = cancellable_ = false;
  sleep(waiter);
}

void LotHost::wake(ThreadIndex thread, LotWaiter* waiter) {
  if (thread != kNoThread) {
    unpark(thread);
  } else {
    // The waiter may be gone by now; a futex wake on its address is then a spurious one.
    os::futex_wake(&waiter->woken, 1, os::FutexScope::process);
  }
}

}  // namespace roost
