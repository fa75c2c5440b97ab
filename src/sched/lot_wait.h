// Waiting and waking in the parking lot: the retry protocol and the signal protocol, written once.
//
// Host (runtime: sched/runtime.h; models: relacy's) provides
//   ThreadIndex self()                                  kNoThread for an unmanaged thread
//   WaitResult sleep(Waiter<W>&, const Deadline*)       until woken, deadline or signal
//   void wake(ThreadIndex, Waiter<W>*)                  unpark, or futex wake for unmanaged ones
//   void joins(Bucket&, Waiter<W>&), void leaves()      around the wait, for handlers that leave it
//                                                       by a jump, or fork: in the child the lot is
//                                                       empty, whatever had been announced, and the
//                                                       waiter abandoned; with the lock held
// Wake-ups are issued after the bucket's lock is dropped.
#pragma once

#include "sched/parking_lot.h"

namespace roost {

// `abandoned`: of signal waits alone, by a handler that has come back after all.
enum class WaitResult { woken, timed_out, interrupted, cancelled, abandoned };

// Waits until `attempt()` returns something other than `busy`, and returns that; or
// `gave_up(result)` when the sleep ends otherwise. `attempt` runs under the bucket's lock and must
// not block.
template <class W, class Bucket, class Host, class Attempt, class GaveUp>
int wait_retry(Bucket& bucket, const void* key, std::uint32_t tag, Host& host, int busy,
               Attempt&& attempt, GaveUp&& gave_up) {
  Waiter<W> waiter;
  waiter.key = key;
  waiter.tag = tag;
  waiter.thread = host.self();
  waiter.retries = true;
  bucket.acquire();
  host.joins(bucket, waiter);
  bucket.announce();
  int result = attempt();
  if (result == busy) {
    bucket.push_back(waiter);
    for (;;) {
      bucket.release();
      WaitResult sleep = host.sleep(waiter);
      bucket.acquire();
      waiter.woken.store(0, std::memory_order_relaxed);
      if (waiter.abandoned) {  // and gone on with: it begins anew, at the end of the queue
        waiter.abandoned = waiter.expelled = false;
        waiter.thread = host.self();  // another one in the child of a fork
        host.joins(bucket, waiter);
        bucket.announce();
        if (!waiter.queued) bucket.push_back(waiter);
      }
      result = attempt();
      if (result != busy) break;
      if (sleep != WaitResult::woken) {
        result = gave_up(sleep);
        if (result != busy) break;
      }
      ++waiter.failures;
    }
    if (waiter.queued) bucket.remove(waiter);
  }
  if (!waiter.abandoned) bucket.retract();
  host.leaves();
  bucket.release();
  return result;
}

// Wakes waiters of `key` after the object was released. `choose(waiter)` is asked for each, oldest
// first, under the lock: wake it, skip it, or stop. A waiter already woken and not yet back is
// shown too (waiter.woken is 1). At most kBatch wake-ups leave the lock at a time.
enum class Choice { wake, skip, stop };

template <class W, class Bucket, class Host, class Choose>
void wake_retry(Bucket& bucket, const void* key, Host& host, Choose&& choose) {
  constexpr unsigned kBatch = 32;
  struct Woken {
    ThreadIndex thread;
    Waiter<W>* waiter;
  } batch[kBatch];
  bool more = true;
  // No handler that jumps may leave waiters marked and asleep.
  W::enter_critical();
  while (more) {
    more = false;
    unsigned n = 0;
    bucket.acquire();
    for (Waiter<W>* w = bucket.first(key); w; w = bucket.find(w->next, key)) {
      if (n == kBatch) {
        more = true;
        break;
      }
      Choice choice = choose(*w);
      if (choice == Choice::stop) break;
      if (choice == Choice::skip || w->woken.load(std::memory_order_relaxed)) continue;
      w->woken.store(1, std::memory_order_release);
      batch[n++] = {w->thread, w};
    }
    bucket.release();
    for (unsigned i = 0; i < n; ++i) host.wake(batch[i].thread, batch[i].waiter);
  }
  W::leave_critical();
}

// Queues the waiter for a signal. `ready()` runs under the lock: false means do not wait after all.
template <class W, class Bucket, class Host, class Ready>
bool begin_signal_wait(Bucket& bucket, Waiter<W>& waiter, Host& host, Ready&& ready) {
  waiter.thread = host.self();
  waiter.abandoned = waiter.expelled = false;
  waiter.woken.store(0, std::memory_order_relaxed);
  bucket.acquire();
  host.joins(bucket, waiter);
  bucket.announce();
  bool wait = ready();
  if (wait) {
    bucket.push_back(waiter);
  } else {
    if (!waiter.abandoned) bucket.retract();
    host.leaves();
  }
  bucket.release();
  return wait;
}

// Takes the waiter out of the queue, unless a signaller has done so: false then, and the signaller
// will still mark it.
template <class W, class Bucket>
bool leave_queue(Bucket& bucket, Waiter<W>& waiter) {
  bucket.acquire();
  bool ours = waiter.queued || waiter.expelled;
  if (waiter.queued) {
    bucket.remove(waiter);
    bucket.retract();
  }
  waiter.expelled = ours;
  bucket.release();
  return ours;
}

// Takes every waiter for `key` that `choose` accepts out of the queue without a signal: it goes on
// sleeping until something else ends its sleep.
template <class W, class Bucket, class Choose>
void expel_waiters(Bucket& bucket, const void* key, Choose&& choose) {
  bucket.acquire();
  for (Waiter<W>* w = bucket.first(key); w;) {
    Waiter<W>* next = bucket.find(w->next, key);
    if (choose(*w)) {
      bucket.remove(*w);
      bucket.retract();
      w->expelled = true;
    }
    w = next;
  }
  bucket.release();
}

// Sleeps until signalled; on a timeout or the like leaves the queue. If a signaller was faster the
// wait counts as woken: no signal is swallowed.
template <class W, class Bucket, class Host>
WaitResult end_signal_wait(Bucket& bucket, Waiter<W>& waiter, Host& host) {
  for (;;) {
    WaitResult sleep = host.sleep(waiter);
    bool woken = waiter.woken.load(std::memory_order_acquire);  // [signal-1]
    if (woken && waiter.abandoned) {
      if (waiter.queued) {  // in the child of a fork, which the lot does not count
        bucket.acquire();
        bucket.remove(waiter);
        bucket.release();
      }
      return WaitResult::abandoned;
    }
    if (!woken && sleep == WaitResult::woken) continue;
    if (!woken && !leave_queue<W>(bucket, waiter)) {
      host.await_signal(waiter);
      woken = true;
    }
    host.leaves();
    return woken ? WaitResult::woken : sleep;
  }
}

// Ends the wait of the calling thread in the name of its frame, which a signal handler is about to
// leave by a jump. Perhaps the jump does not go that far, and the wait goes on later: wait_retry
// begins anew then, end_signal_wait returns `abandoned`.
template <class W, class Bucket, class Host>
void abandon_lot_wait(Bucket& bucket, Waiter<W>& waiter, Host& host) {
  if (!leave_queue<W>(bucket, waiter)) {
    for (unsigned spins = 0; !waiter.woken.load(std::memory_order_acquire); ++spins)
      W::relax(spins);  // [signal-1]
    return;
  }
  waiter.abandoned = true;
  // A sleep that goes on all the same ends.
  bool was_to_try = waiter.woken.exchange(1, std::memory_order_relaxed);
  host.wake(waiter.thread, &waiter);
  if (!was_to_try) return;
  // What it was to try for is another's to try for now.
  bool passed_on = false;
  wake_retry<W>(bucket, waiter.key, host, [&](Waiter<W>& other) {
    if (passed_on) return Choice::stop;
    if (other.woken.load(std::memory_order_relaxed)) return Choice::skip;
    passed_on = true;
    return Choice::wake;
  });
}

// Takes up to `limit` waiters for `key` that `choose` accepts out of the queue, oldest first, and
// wakes them. Returns how many.
template <class W, class Bucket, class Host, class Choose>
std::uint32_t signal_waiters(Bucket& bucket, const void* key, std::uint32_t limit, Host& host,
                             Choose&& choose) {
  std::uint32_t total = 0;
  Waiter<W>* taken = nullptr;
  Waiter<W>** end = &taken;
  W::enter_critical();
  bucket.acquire();
  for (Waiter<W>* w = bucket.first(key); w && total < limit;) {
    Waiter<W>* next = bucket.find(w->next, key);
    if (choose(*w)) {
      bucket.remove(*w);
      bucket.retract();
      *end = w;
      end = &w->next;
      ++total;
    }
    w = next;
  }
  *end = nullptr;
  bucket.release();
  while (taken) {
    // Once `woken` is set the waiter may return and its stack frame be gone.
    Waiter<W>* waiter = taken;
    ThreadIndex thread = waiter->thread;
    taken = waiter->next;
    waiter->woken.store(1, std::memory_order_release);  // [signal-1]
    host.wake(thread, waiter);
  }
  W::leave_critical();
  return total;
}

}  // namespace roost
