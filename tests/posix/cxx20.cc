// The C++20 library's own synchronisation: atomic waits, semaphores, latches, barriers, jthread and
// stop tokens, shared mutexes, futures, condition_variable_any.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "expect.h"

using namespace std::chrono_literals;

namespace {

constexpr int kThreads = 6;

template <class Body>
void in_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (auto& thread : threads) thread.join();
}

}  // namespace

CASE(atomic_wait_and_notify) {
  std::atomic<int> ping{0}, pong{0};
  std::thread other([&] {
    for (int i = 1; i <= 2000; ++i) {
      ping.wait(i - 1);
      pong.store(i);
      pong.notify_one();
    }
  });
  for (int i = 1; i <= 2000; ++i) {
    ping.store(i);
    ping.notify_one();
    pong.wait(i - 1);
    EXPECT_EQ(pong.load(), i);
  }
  other.join();
}

CASE(atomic_wait_on_values_that_are_no_futex) {
  std::atomic<long> wide{0};
  std::atomic<char> narrow{0};
  std::atomic_flag flag;
  std::atomic<int> passed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      wide.wait(0);
      narrow.wait(0);
      flag.wait(false);
      ++passed;
    });
  }
  wide = 1L << 40;
  wide.notify_all();
  narrow = 1;
  narrow.notify_all();
  flag.test_and_set();
  flag.notify_all();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(passed, kThreads);
}

CASE(counting_semaphores) {
  std::counting_semaphore<3> tokens(3);
  std::atomic<int> holders{0};
  in_threads(kThreads, [&](int) {
    for (int i = 0; i < 500; ++i) {
      tokens.acquire();
      EXPECT(++holders <= 3);
      if (i % 16 == 0) std::this_thread::yield();
      --holders;
      tokens.release();
    }
  });
  for (int i = 0; i < 3; ++i) EXPECT(tokens.try_acquire());
  EXPECT(!tokens.try_acquire());
  auto begin = std::chrono::steady_clock::now();
  EXPECT(!tokens.try_acquire_for(20ms));
  EXPECT(std::chrono::steady_clock::now() - begin >= 20ms);
}

CASE(binary_semaphores_alternate) {
  std::binary_semaphore mine(1), yours(0);
  int turn = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      yours.acquire();
      EXPECT_EQ(turn++ % 2, 1);
      mine.release();
    }
  });
  for (int i = 0; i < 1000; ++i) {
    mine.acquire();
    EXPECT_EQ(turn++ % 2, 0);
    yours.release();
  }
  other.join();
}

CASE(latches) {
  for (int round = 0; round < 50; ++round) {
    std::latch start(1), done(kThreads);
    std::atomic<int> arrived{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        start.wait();
        ++arrived;
        done.count_down();
      });
    }
    EXPECT_EQ(arrived, 0);
    start.count_down();
    done.wait();
    EXPECT_EQ(arrived, kThreads);
    for (auto& thread : threads) thread.join();
  }
}

CASE(barriers) {
  int completions = 0;
  std::atomic<int> arrived{0};
  std::barrier barrier(kThreads, [&]() noexcept { ++completions; });
  in_threads(kThreads, [&](int) {
    for (int round = 1; round <= 300; ++round) {
      ++arrived;
      barrier.arrive_and_wait();
      EXPECT(arrived >= round * kThreads);
    }
  });
  EXPECT_EQ(completions, 300);
}

CASE(jthread_joins_and_stops) {
  std::atomic<int> stopped{0};
  for (int i = 0; i < 50; ++i) {
    std::jthread polling([&](std::stop_token token) {
      while (!token.stop_requested()) std::this_thread::yield();
      ++stopped;
    });
  }
  EXPECT_EQ(stopped, 50);
}

CASE(condition_variable_any_wakes_by_stop_token) {
  for (int i = 0; i < 50; ++i) {
    std::mutex mutex;
    std::condition_variable_any condition;
    bool stopped = false;
    {
      std::jthread waiting([&](std::stop_token token) {
        std::unique_lock lock(mutex);
        stopped = !condition.wait(lock, token, [] { return false; });
      });
    }
    EXPECT(stopped);
  }
}

CASE(condition_variables_with_steady_and_system_clocks) {
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  auto steady = std::chrono::steady_clock::now() + 20ms;
  EXPECT(condition.wait_until(lock, steady) == std::cv_status::timeout);
  EXPECT(std::chrono::steady_clock::now() >= steady);
  auto system = std::chrono::system_clock::now() + 20ms;
  EXPECT(condition.wait_until(lock, system) == std::cv_status::timeout);
  EXPECT(std::chrono::system_clock::now() >= system);
  EXPECT(!condition.wait_for(lock, 5ms, [] { return false; }));
}

CASE(timed_mutexes) {
  std::timed_mutex timed;
  std::recursive_timed_mutex recursive;
  std::shared_timed_mutex shared;
  timed.lock();
  recursive.lock();
  recursive.lock();
  shared.lock();
  std::thread([&] {
    EXPECT(!timed.try_lock_for(5ms));
    EXPECT(!recursive.try_lock_until(std::chrono::system_clock::now() + 5ms));
    EXPECT(!shared.try_lock_shared_for(5ms));
    EXPECT(!shared.try_lock_until(std::chrono::steady_clock::now() + 5ms));
  }).join();
  timed.unlock();
  recursive.unlock();
  recursive.unlock();
  shared.unlock();
  std::thread([&] {
    EXPECT(timed.try_lock_for(5s));
    EXPECT(recursive.try_lock_for(5s));
    EXPECT(shared.try_lock_for(5s));
    timed.unlock();
    recursive.unlock();
    shared.unlock();
  }).join();
}

CASE(shared_mutexes) {
  std::shared_mutex mutex;
  long written = 0, twin = 0;
  in_threads(kThreads, [&](int number) {
    for (int i = 0; i < 500; ++i) {
      if ((i + number) % 4) {
        std::shared_lock lock(mutex);
        EXPECT_EQ(written, twin);
      } else {
        std::unique_lock lock(mutex);
        ++written;
        if (i % 16 == 0) std::this_thread::yield();
        ++twin;
      }
    }
  });
  EXPECT_EQ(written, kThreads * 125);
}

CASE(futures_and_promises) {
  for (int i = 0; i < 100; ++i) {
    auto square = std::async(
        std::launch::async, [](int x) { return x * x; }, i);
    std::promise<int> promise;
    auto future = promise.get_future();
    EXPECT(future.wait_for(0ms) == std::future_status::timeout);
    std::thread giver([&] { promise.set_value(i); });
    EXPECT_EQ(future.get(), i);
    EXPECT_EQ(square.get(), i * i);
    giver.join();
  }
}

CASE(exceptions_travel_through_futures) {
  auto future = std::async(std::launch::async, []() -> int { throw 42; });
  int caught = 0;
  try {
    future.get();
  } catch (int value) {
    caught = value;
  }
  EXPECT_EQ(caught, 42);
}

CASE(promises_at_thread_exit) {
  std::promise<int> promise;
  auto future = promise.get_future();
  std::thread giver([&] { promise.set_value_at_thread_exit(9); });
  EXPECT_EQ(future.get(), 9);
  giver.join();
}

CASE(call_once_retries_after_an_exception) {
  std::once_flag flag;
  std::atomic<int> calls{0};
  in_threads(kThreads, [&](int) {
    try {
      std::call_once(flag, [&] {
        if (++calls < 3) throw 1;
      });
    } catch (int) {
    }
  });
  while (calls < 3) {
    try {
      std::call_once(flag, [&] {
        if (++calls < 3) throw 1;
      });
    } catch (int) {
    }
  }
  std::call_once(flag, [&] { ++calls; });
  EXPECT_EQ(calls, 3);
}

CASE(function_statics_are_initialised_once) {
  std::atomic<int> made{0};
  in_threads(kThreads, [&](int) {
    static int value = [&] {
      std::this_thread::sleep_for(1ms);
      return ++made;
    }();
    EXPECT_EQ(value, 1);
  });
  EXPECT_EQ(made, 1);
}
