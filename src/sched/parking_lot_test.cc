// The parking lot with real, unmanaged threads: exclusion, no lost wake-up, first come first
// served.
#include "sched/parking_lot.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "os/sys.h"
#include "sched/lot_wait.h"

namespace roost {
namespace {

using TestLot = ParkingLot<RealWorld, 2>;  // two buckets: objects share them
using TestWaiter = Waiter<RealWorld>;
constexpr int kBusy = 1, kTimedOut = 2;

// Threads wait on the waiter's own word, as unmanaged ones do.
struct TestHost {
  Nanoseconds deadline = 0;  // on the monotonic clock; 0: none

  ThreadIndex self() const { return kNoThread; }
  WaitResult sleep(TestWaiter& waiter) {
    timespec at = os::to_timespec(deadline);
    for (;;) {
      if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
      int slept =
          os::futex_wait(&waiter.woken, 0, os::FutexScope::process, deadline ? &at : nullptr);
      if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
      if (slept == -ETIMEDOUT) return WaitResult::timed_out;
    }
  }
  void await_signal(TestWaiter& waiter) {
    deadline = 0;
    sleep(waiter);
  }
  void wake(ThreadIndex, TestWaiter* waiter) {
    os::futex_wake(&waiter->woken, 1, os::FutexScope::process);
  }
  void joins(LotBucket<RealWorld>&, TestWaiter&) {}
  void leaves() {}
};

int give_up(WaitResult result) { return result == WaitResult::timed_out ? kTimedOut : kBusy; }

struct Mutex {
  std::atomic<int> word{0};

  int try_lock() { return word.exchange(1, std::memory_order_acquire) ? kBusy : 0; }
  int lock(TestLot& lot, Nanoseconds deadline = 0) {
    if (try_lock() == 0) return 0;
    TestHost host{deadline};
    return wait_retry<RealWorld>(
        lot.bucket(this), this, 0, host, kBusy, [&] { return try_lock(); }, give_up);
  }
  void unlock(TestLot& lot) {
    word.exchange(0, std::memory_order_seq_cst);
    if (!lot.may_have_waiters(this)) return;
    TestHost host;
    bool first = true;
    wake_retry<RealWorld>(lot.bucket(this), this, host, [&](TestWaiter& waiter) {
      if (!first || waiter.woken.load(std::memory_order_relaxed)) return Choice::stop;
      first = false;
      return Choice::wake;
    });
  }
};

struct Condition {
  char key = 0;

  bool wait(TestLot& lot, Mutex& mutex, Nanoseconds deadline = 0) {
    TestHost host{deadline};
    TestWaiter waiter;
    waiter.key = this;
    auto& bucket = lot.bucket(this);
    begin_signal_wait<RealWorld>(bucket, waiter, host, [] { return true; });
    mutex.unlock(lot);
    WaitResult result = end_signal_wait<RealWorld>(bucket, waiter, host);
    mutex.lock(lot);
    return result == WaitResult::woken;
  }
  std::uint32_t signal(TestLot& lot, std::uint32_t count) {
    TestHost host;
    return signal_waiters<RealWorld>(lot.bucket(this), this, count, host,
                                     [](TestWaiter&) { return true; });
  }
};

template <class Body>
void in_threads(int count, Body&& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

void expect_empty(TestLot& lot) {
  lot.for_each_bucket([](auto& bucket) {
    EXPECT_EQ(bucket.count.load(), 0u);
    EXPECT_EQ(bucket.head, nullptr);
    EXPECT_EQ(bucket.tail, nullptr);
  });
}

// The queue of a bucket, on one thread.

struct Bucket : testing::Test {
  TestLot lot;
  LotBucket<RealWorld>& bucket = lot.bucket(this);
  TestWaiter waiters[3];
  char keys[2] = {};

  void SetUp() override {
    bucket.acquire();
    for (int i = 0; i < 3; ++i) {
      waiters[i].key = &keys[i % 2];
      bucket.push_back(waiters[i]);
    }
    bucket.release();
  }
};

TEST_F(Bucket, waiters_of_a_key_are_found_oldest_first) {
  EXPECT_EQ(bucket.first(&keys[0]), &waiters[0]);
  EXPECT_EQ(bucket.find(waiters[0].next, &keys[0]), &waiters[2]);
  EXPECT_EQ(bucket.first(&keys[1]), &waiters[1]);
  EXPECT_EQ(bucket.first(this), nullptr);
}

TEST_F(Bucket, any_waiter_can_leave) {
  bucket.remove(waiters[1]);
  EXPECT_FALSE(waiters[1].queued);
  EXPECT_EQ(bucket.first(&keys[1]), nullptr);
  bucket.remove(waiters[0]);
  EXPECT_EQ(bucket.head, &waiters[2]);
  bucket.remove(waiters[2]);
  EXPECT_EQ(bucket.head, nullptr);
  EXPECT_EQ(bucket.tail, nullptr);
  bucket.push_back(waiters[1]);
  EXPECT_EQ(bucket.first(&keys[1]), &waiters[1]);
}

TEST_F(Bucket, a_signal_takes_the_oldest_that_is_wanted) {
  for (TestWaiter& waiter : waiters) waiter.key = &keys[0];
  waiters[0].tag = 7;
  TestHost host;
  bucket.count.store(3);
  auto wanted = [](TestWaiter& waiter) { return waiter.tag != 7; };
  EXPECT_EQ(signal_waiters<RealWorld>(bucket, &keys[0], 1, host, wanted), 1u);
  EXPECT_EQ(waiters[1].woken.load(), 1u);
  EXPECT_EQ(waiters[2].woken.load(), 0u);
  EXPECT_TRUE(waiters[0].queued);
  EXPECT_EQ(bucket.count.load(), 2u);
  EXPECT_EQ(signal_waiters<RealWorld>(bucket, &keys[0], 9, host, wanted), 1u);
  EXPECT_EQ(signal_waiters<RealWorld>(bucket, &keys[1], 9, host, wanted), 0u);
}

TEST_F(Bucket, whoever_is_awake_already_is_not_woken_again) {
  for (TestWaiter& waiter : waiters) waiter.key = &keys[0];
  waiters[0].woken.store(1);
  int shown = 0;
  TestHost host;
  wake_retry<RealWorld>(bucket, &keys[0], host, [&](TestWaiter&) {
    ++shown;
    return Choice::wake;
  });
  EXPECT_EQ(shown, 3);
  EXPECT_EQ(waiters[1].woken.load() + waiters[2].woken.load(), 2u);
}

// Objects on the lot, with threads.

TEST(ParkingLot, more_waiters_than_leave_the_lock_at_once_are_all_woken) {
  TestLot lot;
  std::atomic<bool> open{false};
  std::atomic<int> waiting{0};
  constexpr int kThreads = 70;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      TestHost host;
      wait_retry<RealWorld>(
          lot.bucket(&open), &open, 0, host, kBusy,
          [&] {
            ++waiting;
            return open.load() ? 0 : kBusy;
          },
          give_up);
    });
  }
  while (waiting.load() < kThreads) sched_yield();
  open.store(true);
  ASSERT_TRUE(lot.may_have_waiters(&open));
  TestHost host;
  wake_retry<RealWorld>(lot.bucket(&open), &open, host, [](TestWaiter&) { return Choice::wake; });
  for (std::thread& thread : threads) thread.join();
  expect_empty(lot);
}

TEST(ParkingLot, a_wait_that_can_succeed_at_once_does_not_sleep) {
  TestLot lot;
  TestHost host;
  EXPECT_EQ(wait_retry<RealWorld>(
                lot.bucket(&lot), &lot, 0, host, kBusy, [] { return 0; }, give_up),
            0);
  expect_empty(lot);
}

TEST(ParkingLot, a_deadline_in_the_past_ends_the_wait) {
  TestLot lot;
  Mutex mutex;
  EXPECT_EQ(mutex.lock(lot), 0);
  EXPECT_EQ(mutex.lock(lot, 1), kTimedOut);
  mutex.unlock(lot);
  EXPECT_EQ(mutex.lock(lot, 1), 0);
  expect_empty(lot);
}

class LotThreads : public testing::TestWithParam<unsigned> {
 protected:
  TestLot lot;
};

TEST_P(LotThreads, mutexes_exclude_and_nobody_is_left_asleep) {
  Mutex mutexes[3];
  long counts[3] = {};  // plain: each under its mutex
  std::atomic<long> expected{0};
  in_threads(6, [&](int i) {
    std::minstd_rand random(GetParam() * 100 + static_cast<unsigned>(i));
    for (int round = 0; round < 2000; ++round) {
      unsigned which = random() % 3;
      Nanoseconds deadline = random() % 4 ? 0 : os::now() + random() % 50'000;
      if (mutexes[which].lock(lot, deadline) != 0) continue;
      ++counts[which];
      ++expected;
      if (random() % 16 == 0) sched_yield();
      mutexes[which].unlock(lot);
    }
  });
  EXPECT_EQ(counts[0] + counts[1] + counts[2], expected.load());
  expect_empty(lot);
}

TEST_P(LotThreads, what_is_put_into_a_bounded_queue_comes_out) {
  Mutex mutex;
  Condition not_empty, not_full;
  int fill = 0;
  long put = 0, taken = 0;
  constexpr int kEach = 1500;
  in_threads(6, [&](int i) {
    std::minstd_rand random(GetParam() * 100 + static_cast<unsigned>(i));
    bool puts = i % 2;
    for (int round = 0; round < kEach; ++round) {
      mutex.lock(lot);
      while (puts ? fill == 2 : fill == 0) {
        Condition& condition = puts ? not_full : not_empty;
        // A timeout changes nothing: the loop looks again.
        condition.wait(lot, mutex, random() % 4 ? 0 : os::now() + random() % 30'000);
      }
      fill += puts ? 1 : -1;
      ++(puts ? put : taken);
      (puts ? not_empty : not_full).signal(lot, 1);
      mutex.unlock(lot);
    }
  });
  EXPECT_EQ(put, 3 * kEach);
  EXPECT_EQ(taken, 3 * kEach);
  expect_empty(lot);
}

TEST_P(LotThreads, every_signal_that_found_a_waiter_wakes_one) {
  Mutex mutex;
  Condition condition;
  long woken = 0;
  std::uint32_t signalled = 0;
  std::atomic<int> left{4};
  in_threads(5, [&](int i) {
    std::minstd_rand random(GetParam() * 100 + static_cast<unsigned>(i));
    if (i == 4) {
      while (left.load()) signalled += condition.signal(lot, 1 + random() % 2);
      return;
    }
    for (int round = 0; round < 500; ++round) {
      mutex.lock(lot);
      if (condition.wait(lot, mutex, os::now() + random() % 20'000)) ++woken;
      mutex.unlock(lot);
    }
    --left;
  });
  EXPECT_EQ(woken, static_cast<long>(signalled));
  expect_empty(lot);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LotThreads, testing::Range(0u, 5u));

}  // namespace
}  // namespace roost
