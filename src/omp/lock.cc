// Waiting for locks: queues in a table by address.
#include "omp/lock.h"

#include "ult/carrier.h"

namespace roost::omp {
namespace {

// Those who wait for the locks that hash to it. All of them are woken when one of the locks is
// released: contended locks are few, and nobody has to be taken out of the middle.
struct alignas(kCoreStride) Bucket {
  ult::WaitList waiters;
};
constinit Bucket buckets[64];

Bucket& bucket_of(const void* address) {
  auto bits = reinterpret_cast<std::uintptr_t>(address) >> 2;
  return buckets[(bits * 0x9e3779b97f4a7c15u) >> 58];
}

}  // namespace

void Lock::acquire_slowly() {
  ult::carrier();
  ult::wait_until(bucket_of(this).waiters, {}, [this] {
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    if (word == 0) {
      return word_.compare_exchange_strong(word, kContended, std::memory_order_acquire,
                                           std::memory_order_relaxed);
    }
    // [lock-1] Whoever releases it now wakes those in the list.
    if (word == kHeld) word_.compare_exchange_strong(word, kContended, std::memory_order_seq_cst);
    return false;
  });
}

void Lock::wake_one() { bucket_of(this).waiters.wake_all(); }

}  // namespace roost::omp
