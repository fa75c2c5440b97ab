// The ledger with real threads: no wake-up is lost and no core ever has two of them.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "os/sys.h"
#include "sched/threads_os_test.h"

namespace roost {
namespace {

struct World {
  ThreadsInstance instance;
  std::vector<std::atomic<int>> users;
  std::vector<int> messages;  // plain: between partners
  std::atomic<int> clashes{0};

  World(TestMachine machine, unsigned n_threads)
      : instance(machine, n_threads), users(machine.n_cores()), messages(n_threads / 2) {}

  void wait_for_grant(ThreadIndex self) {
    TestRecord& record = instance.threads[self];
    for (;;) {
      std::uint32_t word = announce_sleep(record);
      if (state_of(word) == State::running) return;
      os::futex_wait(&record.state, word, os::FutexScope::process);
    }
  }
  void park(ThreadIndex self) {
    Held held = instance.ledger.core_of(self);
    if (begin_block(instance.threads[self]).block == Block::permit) return;
    instance.ledger.release(held);
    wait_for_grant(self);
  }
  void compute(ThreadIndex self) {
    CoreIndex core = instance.core(self);
    if (users[core].fetch_add(1, std::memory_order_relaxed) != 0) ++clashes;
    for (int i = 0; i < 20; ++i) cpu_pause();
    users[core].fetch_sub(1, std::memory_order_relaxed);
  }

  // Partners 2k and 2k+1 pass a message to and fro, with detours.
  void live(ThreadIndex self, unsigned seed) {
    my_index = self;
    std::minstd_rand random(seed * 1000 + self);
    instance.from_kernel(self);
    wait_for_grant(self);
    int& message = messages[self / 2];
    for (int round = 0; round < 150; ++round) {
      if (self % 2) park(self);
      compute(self);
      ++message;
      switch (random() % 4) {
        case 0:
          if (instance.yield(self, 1000)) wait_for_grant(self);
          break;
        case 1:
          instance.to_kernel(self);
          instance.from_kernel(self);
          wait_for_grant(self);
          break;
        default:
          break;
      }
      compute(self);
      instance.wake(self ^ 1);
      if (self % 2 == 0) park(self);
    }
    instance.to_kernel(self);
  }
};

class LedgerThreads : public testing::TestWithParam<unsigned> {};

TEST_P(LedgerThreads, pass_messages_on_few_cores) {
  constexpr unsigned kThreads = 12;
  World world({2, 2}, kThreads);
  for (ThreadIndex i = 0; i < kThreads; ++i) {
    world.instance.place(i, static_cast<ProcessIndex>(i % 3), static_cast<CoreIndex>(i % 4));
    change_state(world.instance.threads[i], State::external);
  }
  std::vector<std::thread> threads;
  for (ThreadIndex i = 0; i < kThreads; ++i) {
    threads.emplace_back([&world, i] { world.live(i, GetParam()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world.clashes.load(), 0);
  for (int message : world.messages) EXPECT_EQ(message, 300);
  EXPECT_EQ(world.instance.broken(), "");
}

// Cores come and go (sched/contention.h) meanwhile.
TEST_P(LedgerThreads, pass_messages_while_cores_are_set_aside_and_put_back) {
  constexpr unsigned kThreads = 12;
  World world({2, 2}, kThreads);
  auto& instance = world.instance;
  for (ThreadIndex i = 0; i < kThreads; ++i) {
    instance.place(i, static_cast<ProcessIndex>(i % 3), static_cast<CoreIndex>(i % 4));
    change_state(instance.threads[i], State::external);
  }
  std::atomic<bool> over{false};
  std::thread keeper([&] {
    my_index = kThreads;
    std::minstd_rand random(GetParam());
    while (!over.load()) {
      auto core = static_cast<CoreIndex>(random() % 4);
      set_bit(instance.contended, core);
      for (unsigned tick = random() % 4; tick > 0; --tick) instance.ledger.serve_free(core);
      clear_bit(instance.contended, core);
      instance.ledger.serve_free(core);
    }
  });
  std::vector<std::thread> threads;
  for (ThreadIndex i = 0; i < kThreads; ++i) {
    threads.emplace_back([&world, i] { world.live(i, GetParam()); });
  }
  for (std::thread& thread : threads) thread.join();
  over = true;
  keeper.join();
  EXPECT_EQ(world.clashes.load(), 0);
  for (int message : world.messages) EXPECT_EQ(message, 300);
  EXPECT_EQ(instance.broken(), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, LedgerThreads, testing::Range(0u, 6u));

}  // namespace
}  // namespace roost
