// Waiting for locks: queues in a table by address.
//
// What a queue holds and the "contended" mark of its locks change under the bucket's spin lock, so
// that whoever releases a contended lock finds the one who marked it, or somebody before it:
//
//   waiter, in the bucket:    lock taken?  marks it contended, queues;  free?  takes it
//   releaser:                 frees the lock; if it was marked, takes the oldest out of the queue
//   and
//                             wakes it
//
// If the releaser frees the lock before the waiter looks, the waiter takes it. If after, it sees
// the mark, and enters the bucket after the waiter has queued. A woken waiter takes the lock with
// the mark, since others may be behind it.
#include "omp/lock.h"

#include <algorithm>

#include "ult/carrier.h"
#include "ult/spin_lock.h"

namespace roost::omp {
namespace {

enum Wakeup : std::uint32_t { kNone, kTryAgain, kYours };

// How one waits. Kept for the next one: a releaser may still look at its list when the wait is
// over, and then wakes a stranger, who looks at `wakeup` and waits on.
struct QueueEntry {
  QueueEntry* next = nullptr;
  const void* lock = nullptr;
  unsigned overtaken = 0;
  std::atomic<std::uint32_t> wakeup{kNone};
  ult::WaitList list;
};

// Times a waiter may be overtaken before it is handed the lock. Not fewer: it may be a light thread
// whose carrier is busy, and then nobody else can have the lock meanwhile.
constexpr unsigned kOvertakings = 16;

struct alignas(kCoreStride) Bucket {
  ult::LockOverForks guard;
  QueueEntry* first = nullptr;
  QueueEntry* last = nullptr;
  QueueEntry* spare = nullptr;

  void push_back(QueueEntry* entry) {
    entry->next = nullptr;
    (last ? last->next : first) = entry;
    last = entry;
  }
  void push_front(QueueEntry* entry) {
    entry->next = first;
    first = entry;
    if (!last) last = entry;
  }
  // Takes out the oldest that waits for the lock; null if there is none.
  QueueEntry* take(const void* lock) {
    QueueEntry* before = nullptr;
    for (QueueEntry* entry = first; entry; before = entry, entry = entry->next) {
      if (entry->lock != lock) continue;
      (before ? before->next : first) = entry->next;
      if (last == entry) last = before;
      return entry;
    }
    return nullptr;
  }
};

constexpr unsigned kBuckets = 64;
constinit Bucket buckets[kBuckets];

Bucket& bucket_of(const void* address) {
  auto bits = reinterpret_cast<std::uintptr_t>(address) >> 2;
  return buckets[(bits * 0x9e3779b97f4a7c15u) >> 58];
}

// Under the bucket's lock, or for an entry of the caller's own.
QueueEntry* take_entry(Bucket& bucket) {
  if (QueueEntry* entry = bucket.spare) {
    bucket.spare = entry->next;
    return entry;
  }
  auto* entry = ult::permanent_array<QueueEntry>(1);
  if (!entry) ult::out_of_memory("who waits for a lock");
  return new (entry) QueueEntry;
}

}  // namespace

class LockTable {
 public:
  static void wait_for(Lock& lock);
  static void wake_one(Lock& lock);

 private:
  // Polls as long as that costs nobody anything: most locks are held shortly. Ever more rarely, up
  // to 0.4 us: who looks takes the line from the owner, who else may come again at little cost.
  static bool poll(Lock& lock);
  // Takes the lock if it is free; marks it otherwise. Under the bucket's lock.
  static bool take_or_mark(Lock& lock);
};

bool LockTable::poll(Lock& lock) {
  constexpr unsigned kPauses = 256, kLongest = 16;
  ult::Patience patience;
  for (unsigned paused = 0, pauses = 1; paused < kPauses; pauses = std::min(pauses * 2, kLongest)) {
    if (!lock.held() && lock.try_acquire()) return true;
    for (unsigned i = 0; i < pauses; ++i, ++paused)
      if (ult::has_other_work(*ult::here.carrier, nullptr) || !patience.wait()) return false;
  }
  return false;
}

bool LockTable::take_or_mark(Lock& lock) {
  std::uint32_t word = lock.word_.load(std::memory_order_relaxed);
  for (;;) {
    std::uint32_t next = word ? word | Lock::kContended : Lock::kHeld | Lock::kContended;
    if (word == next) return false;
    if (lock.word_.compare_exchange_weak(word, next, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      return word == 0;
    }
  }
}

void LockTable::wait_for(Lock& lock) {
  ult::carrier();
  if (poll(lock)) return;
  Bucket& bucket = bucket_of(&lock);
  QueueEntry* entry = nullptr;
  for (;;) {
    {
      ult::GuardOverForks guard(bucket.guard);
      bool again = entry != nullptr;
      if (!again) {
        if (take_or_mark(lock)) return;
        entry = take_entry(bucket);
        entry->lock = &lock;
        entry->overtaken = 0;
      } else if (take_or_mark(lock)) {
        entry->next = bucket.spare;
        bucket.spare = entry;
        return;
      }
      entry->wakeup.store(kNone, std::memory_order_relaxed);
      again ? bucket.push_front(entry) : bucket.push_back(entry);
    }
    ult::wait_until(entry->list, {}, [entry] {
      // [lock-1] acquire: what the last owner did, if the lock was handed over.
      return entry->wakeup.load(std::memory_order_acquire) != kNone;
    });
    if (entry->wakeup.load(std::memory_order_relaxed) == kYours) break;
    ++entry->overtaken;
  }
  ult::GuardOverForks guard(bucket.guard);
  entry->next = bucket.spare;
  bucket.spare = entry;
}

void LockTable::wake_one(Lock& lock) {
  Bucket& bucket = bucket_of(&lock);
  QueueEntry* entry = nullptr;
  std::uint32_t wakeup = kTryAgain;
  {
    ult::GuardOverForks guard(bucket.guard);
    entry = bucket.take(&lock);
    if (!entry) return;
    if (entry->overtaken >= kOvertakings) {
      std::uint32_t free = 0;
      if (lock.word_.compare_exchange_strong(free, Lock::kHeld | Lock::kContended,
                                             std::memory_order_acquire)) {
        wakeup = kYours;
      }
    }
  }
  entry->wakeup.store(wakeup, std::memory_order_seq_cst);  // [lock-1] [wait-1]
  entry->list.wake_all();
}

void Lock::acquire_slowly() { LockTable::wait_for(*this); }
void Lock::wake_one() { LockTable::wake_one(*this); }

void lock_queues_before_fork() {
  for (Bucket& bucket : buckets) bucket.guard.acquire_before_fork();
}
void unlock_queues_after_fork() {
  for (Bucket& bucket : buckets) bucket.guard.release_after_fork();
}
// The marks of contended locks stay: whoever releases one finds nobody.
void forget_waiters_after_fork() {
  for (Bucket& bucket : buckets) {
    bucket.first = bucket.last = nullptr;
    bucket.guard.release_after_fork();
  }
}

}  // namespace roost::omp
