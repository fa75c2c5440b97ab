// The parking lot: FIFO wait queues for synchronisation objects, keyed by address
// (sched/PROTOCOL.md).
//
// Objects keep libc's layout; who waits for them is known only here. A process has one lot. Two
// ways to wait, both used under the bucket's lock:
//   retry   the waiter stays queued while it is woken, runs, and tries again what it waits for
//           (mutex, read-write lock, semaphore). It leaves the queue when it succeeds or gives up.
//   signal  the waker takes the waiter out of the queue; being out is what it waited for
//           (condition variable, barrier, join, futex).
// Lost wake-ups: a waiter raises the bucket's count before it tries for the last time; a waker
// releases the object before it reads the count [lot-1]. One of the two sees the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "base/world.h"

namespace roost {

template <class W>
struct Waiter {
  const void* key = nullptr;
  Waiter* next = nullptr;
  Waiter* previous = nullptr;
  std::uint32_t tag = 0;           // meaning belongs to the kind of object (reader, writer ...)
  bool queued = false;             // under the bucket's lock
  bool expelled = false;           // taken out of the queue unwoken, under the bucket's lock
  bool retries = false;            // waits by the retry protocol: may be woken for nothing
  bool abandoned = false;          // by abandon_lot_wait; the thread's own
  std::uint32_t failures = 0;      // tries after a wake-up that came too late, under the lock
  ThreadIndex thread = kNoThread;  // managed waiter: its record; unmanaged: kNoThread
  typename W::template atomic<std::uint32_t> woken{0};  // unmanaged waiters futex-wait on it
};

template <class W>
struct alignas(kCacheLine) LotBucket {
  typename W::template atomic<std::uint32_t> lock{0};
  typename W::template atomic<std::uint32_t> count{0};  // waiters queued or about to be
  Waiter<W>* head = nullptr;
  Waiter<W>* tail = nullptr;

  void acquire() {
    W::enter_critical();
    for (unsigned spins = 0;; ++spins) {
      if (lock.load(std::memory_order_relaxed) == 0 &&
          lock.exchange(1, std::memory_order_acquire) == 0) {
        return;
      }
      W::relax(spins);
    }
  }
  // False if somebody has it.
  bool try_acquire() {
    W::enter_critical();
    if (lock.load(std::memory_order_relaxed) == 0 &&
        lock.exchange(1, std::memory_order_acquire) == 0)
      return true;
    W::leave_critical();
    return false;
  }
  void release() {
    lock.store(0, std::memory_order_release);
    W::leave_critical();
  }

  // [lot-1] before the last try. The caller holds the lock.
  void announce() {
    count.fetch_add(1, std::memory_order_seq_cst);
    W::fence();
  }
  void retract() { count.fetch_sub(1, std::memory_order_relaxed); }

  void push_back(Waiter<W>& waiter) {
    waiter.next = nullptr;
    waiter.previous = tail;
    (tail ? tail->next : head) = &waiter;
    tail = &waiter;
    waiter.queued = true;
  }
  void remove(Waiter<W>& waiter) {
    (waiter.previous ? waiter.previous->next : head) = waiter.next;
    (waiter.next ? waiter.next->previous : tail) = waiter.previous;
    waiter.next = waiter.previous = nullptr;
    waiter.queued = false;
  }

  // The oldest waiter for `key` at or after `from`.
  Waiter<W>* find(Waiter<W>* from, const void* key) const {
    while (from && from->key != key) from = from->next;
    return from;
  }
  Waiter<W>* first(const void* key) const { return find(head, key); }
};

template <class W, unsigned kBuckets>
class ParkingLot {
 public:
  LotBucket<W>& bucket(const void* key) {
    auto value = reinterpret_cast<std::uintptr_t>(key);
    value = (value >> 3) * 0x9e3779b97f4a7c15ull;
    return buckets_[value >> 32 & (kBuckets - 1)];
  }
  // [lot-1] after the object was released. False: nobody waits here, nothing to do.
  bool may_have_waiters(const void* key) {
    return bucket(key).count.load(std::memory_order_seq_cst) != 0;
  }
  template <class Visit>
  void for_each_bucket(Visit&& visit) {
    for (auto& b : buckets_) visit(b);
  }

 private:
  LotBucket<W> buckets_[kBuckets];
};

}  // namespace roost
