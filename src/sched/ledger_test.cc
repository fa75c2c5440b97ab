// The ledger under coop: who gets a core, in which order, and what stays right whatever happens.
#include "sched/ledger.h"

#include <gtest/gtest.h>

#include "sched/local_instance_test.h"

namespace roost {
namespace {

using Threads = std::vector<ThreadIndex>;
constexpr TestMachine kOneCore{1, 1};
constexpr TestMachine kTwoNodes{2, 2};   // cores 0 1 | 2 3
constexpr TestMachine kFourNodes{4, 2};  // cores 0 1 | 2 3 | 4 5 | 6 7

TEST(Ledger, a_woken_thread_gets_its_last_core_if_that_is_free) {
  LocalInstance instance(kFourNodes, 4);
  instance.place(0, 0, 5);
  instance.wake(0);
  EXPECT_EQ(instance.core(0), 5);
  EXPECT_EQ(instance.threads[0].counters.migrations, 0u);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, else_a_free_core_of_the_same_node_else_any) {
  LocalInstance instance(kFourNodes, 9);
  for (ThreadIndex thread = 0; thread < 9; ++thread) {
    instance.place(thread, 0, 4);
    instance.wake(thread);
  }
  EXPECT_EQ(instance.core(0), 4);
  EXPECT_EQ(instance.core(1), 5);  // the node
  EXPECT_EQ(instance.core(2), 6);  // onwards
  EXPECT_EQ(instance.core(3), 7);
  EXPECT_EQ(instance.core(4), 0);  // and around
  EXPECT_EQ(instance.threads[4].counters.migrations, 1u);
  EXPECT_EQ(instance.threads[4].last_core, 0);
  EXPECT_EQ(instance.state(8), State::ready);
  EXPECT_EQ(instance.queue(4), Threads{8});  // where it would like to be
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, threads_of_a_process_get_a_core_in_the_order_they_came) {
  LocalInstance instance(kOneCore, 4);
  for (ThreadIndex thread = 0; thread < 4; ++thread) instance.wake(thread);
  EXPECT_EQ(instance.queue(0), (Threads{1, 2, 3}));
  for (ThreadIndex thread = 0; thread < 4; ++thread) {
    EXPECT_EQ(instance.core(thread), 0);
    EXPECT_EQ(instance.broken(), "");
    instance.block(thread);
  }
  EXPECT_EQ(instance.owner(0), kNoThread);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, a_free_core_looks_at_its_own_queue_then_its_node_then_anywhere) {
  LocalInstance instance(kTwoNodes, 8);
  occupy(instance);
  instance.place(4, 0, 3);
  instance.place(5, 0, 1);
  instance.place(6, 0, 0);
  for (ThreadIndex thread : {4, 5, 6}) instance.wake(thread);
  instance.block(0);  // core 0
  EXPECT_EQ(instance.core(6), 0);
  instance.block(6);
  EXPECT_EQ(instance.core(5), 0);
  instance.block(5);
  EXPECT_EQ(instance.core(4), 0);
  instance.block(4);
  EXPECT_EQ(instance.owner(0), kNoThread);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, a_core_serves_a_process_for_a_quantum_then_the_next) {
  LocalInstance instance(kOneCore, 7);
  instance.set("brief", 0);
  // Process 1: threads 0 2 4, process 2: 1 3 5, process 3: 6.
  for (ThreadIndex thread = 0; thread < 6; ++thread) {
    instance.place(thread, thread % 2 ? 2 : 1);
  }
  instance.place(6, 3);
  for (ThreadIndex thread = 0; thread < 7; ++thread) instance.wake(thread);
  Threads order{instance.owner(0)};
  for (int step = 0; step < 6; ++step) {
    instance.os.clock += 12 * kMillisecond;  // two steps and the quantum of 20 ms is over
    instance.block(instance.owner(0));
    order.push_back(instance.owner(0));
  }
  EXPECT_EQ(order, (Threads{0, 2, 1, 3, 6, 4, 5}));
}

TEST(Ledger, a_process_alone_keeps_its_core_when_the_quantum_ends) {
  LocalInstance instance(kOneCore, 2);
  instance.wake(0);
  instance.wake(1);
  instance.os.clock += 100 * kMillisecond;
  EXPECT_TRUE(instance.yield(0));
  EXPECT_EQ(instance.core(1), 0);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, who_yields_goes_to_the_end_of_its_queue) {
  LocalInstance instance(kOneCore, 3);
  for (ThreadIndex thread = 0; thread < 3; ++thread) instance.wake(thread);
  EXPECT_TRUE(instance.yield(0));
  EXPECT_EQ(instance.core(1), 0);
  EXPECT_EQ(instance.queue(0), (Threads{2, 0}));
  EXPECT_EQ(instance.threads[0].counters.yields, 1u);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, nobody_is_taken_for_queued_once_the_last_was_granted_a_core) {
  LocalInstance instance({1, 2}, 3);
  occupy(instance);
  instance.place(2, 0, 0);
  instance.wake(2);
  EXPECT_TRUE(instance.ledger.find_queued());
  instance.block(0);
  EXPECT_EQ(instance.core(2), 0);
  EXPECT_TRUE(instance.ledger.any_queued());  // the bit is still set
  EXPECT_FALSE(instance.ledger.find_queued());
  EXPECT_FALSE(instance.ledger.any_queued());
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, who_yields_alone_keeps_the_core) {
  LocalInstance instance(kTwoNodes, 4);
  occupy(instance);
  EXPECT_FALSE(instance.yield(2));
  EXPECT_EQ(instance.core(2), 2);
  EXPECT_EQ(instance.threads[2].counters.yields, 0u);
}

TEST(Ledger, who_yields_takes_threads_of_other_cores_only_when_they_have_waited) {
  LocalInstance instance({1, 2}, 3);
  occupy(instance);
  instance.place(2, 0, 0);
  instance.wake(2);  // behind thread 0
  EXPECT_FALSE(instance.yield(1, 200'000));
  EXPECT_EQ(instance.broken(), "");
  instance.os.clock += 200'000;
  EXPECT_TRUE(instance.yield(1, 200'000));
  EXPECT_EQ(instance.core(2), 1);
  EXPECT_EQ(instance.queue(1), Threads{1});
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, threads_that_yield_to_each_other_do_not_leave_those_of_other_cores_waiting) {
  LocalInstance instance(kTwoNodes, 6);
  occupy(instance);
  instance.place(4, 0, 0);  // waits like 0, which has core 0
  instance.place(5, 0, 1);  // has something to do, and waits for core 1
  instance.wake(4);
  instance.wake(5);
  instance.os.clock += kMillisecond;
  ThreadIndex owner = 0;
  for (unsigned turn = 0; turn < 3 * LocalInstance::TestLedger::kYieldsAtHome; ++turn) {
    ASSERT_TRUE(instance.yield(owner, 200'000));
    owner = instance.owner(0);
    if (owner == 5) break;
  }
  EXPECT_EQ(owner, 5u);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, a_thread_without_its_core_does_not_take_another_by_yielding) {
  LocalInstance instance({1, 2}, 3);
  occupy(instance);
  instance.place(2, 0, 0);
  instance.wake(2);
  // The watchdog comes between the look at the own state and the yield.
  CoreIndex core = instance.core(0);
  change_state(instance.threads[0], State::external);
  auto result = instance.ledger.yield(0, {core, instance.cores[core].owner.load()}, 0);
  EXPECT_EQ(result, LocalInstance::TestLedger::YieldResult::lost_core);
  EXPECT_EQ(instance.state(0), State::ready);  // in the caller's hands
  EXPECT_EQ(instance.queue(0), Threads{2});
}

TEST(Ledger, a_wake_up_before_the_block_keeps_the_core) {
  LocalInstance instance(kOneCore, 2);
  instance.wake(0);
  instance.wake(1);
  instance.wake(0);  // a permit
  instance.block(0);
  EXPECT_EQ(instance.core(0), 0);
  EXPECT_EQ(instance.queue(0), Threads{1});
}

TEST(Ledger, a_core_comes_back_from_the_kernel_call_of_its_thread) {
  LocalInstance instance(kOneCore, 2);
  instance.wake(0);
  instance.wake(1);
  instance.to_kernel(0);
  EXPECT_EQ(instance.core(1), 0);
  instance.from_kernel(0);
  EXPECT_EQ(instance.queue(0), Threads{0});
  EXPECT_EQ(instance.broken(), "");
}

// One core, which thread 0 of the caller's process has, and a word that others wait for.
struct WaitingForWord : LocalInstance {
  std::uint64_t word = 1;
  WaitWords wait{{{reinterpret_cast<std::uintptr_t>(&word), 1, true}}, 1, 20'000'000};
  explicit WaitingForWord(unsigned n_threads) : LocalInstance(kOneCore, n_threads) {
    os.my_process = 0;
    occupy(*this);
  }
  // It yields until the word changes.
  void wake_to_wait(ThreadIndex thread) {
    wake(thread);
    threads[thread].wait_words = reinterpret_cast<std::uintptr_t>(&wait);
  }
};

TEST(Ledger, who_waits_for_a_word_is_passed_over_until_it_changes) {
  WaitingForWord instance(4);
  instance.wake_to_wait(1);
  instance.wake(2);
  instance.wake_to_wait(3);
  EXPECT_TRUE(instance.yield(0));
  EXPECT_EQ(instance.core(2), 0);
  EXPECT_EQ(instance.queue(0), (Threads{1, 3, 0}));
  instance.word = 2;
  EXPECT_TRUE(instance.yield(2));
  EXPECT_EQ(instance.core(1), 0);
  EXPECT_EQ(instance.queue(0), (Threads{3, 0, 2}));
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, the_last_in_the_queue_can_be_taken_past_the_others) {
  WaitingForWord instance(4);
  instance.wake_to_wait(1);
  instance.wake(2);
  EXPECT_TRUE(instance.yield(0));
  EXPECT_EQ(instance.core(2), 0);
  instance.wake(3);
  EXPECT_EQ(instance.queue(0), (Threads{1, 0, 3}));
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, a_core_is_never_left_free_for_those_who_wait_in_vain) {
  WaitingForWord instance(2);
  instance.wake_to_wait(1);
  EXPECT_FALSE(instance.yield(0));  // nobody has anything to do
  EXPECT_EQ(instance.core(0), 0);
  instance.block(0);
  EXPECT_EQ(instance.core(1), 0);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, who_waits_in_vain_for_long_is_granted_all_the_same) {
  WaitingForWord instance(2);
  instance.wake_to_wait(1);
  instance.os.clock += instance.wait.patience;
  EXPECT_TRUE(instance.yield(0));
  EXPECT_EQ(instance.core(1), 0);
}

TEST(Ledger, the_words_of_another_process_are_not_looked_at) {
  LocalInstance instance(kOneCore, 2);
  instance.os.my_process = 1;
  occupy(instance);
  instance.place(0, 1);
  instance.wake(1);
  instance.threads[1].wait_words = 8;  // unreadable here
  EXPECT_TRUE(instance.yield(0));
  EXPECT_EQ(instance.core(1), 0);
}

TEST(Ledger, a_process_that_waits_in_vain_gives_its_turn_to_another) {
  WaitingForWord instance(3);
  instance.wake_to_wait(1);
  instance.place(2, 1);
  instance.wake(2);
  EXPECT_TRUE(instance.yield(0));
  EXPECT_EQ(instance.core(2), 0);
  EXPECT_EQ(instance.queue(0), (Threads{1, 0}));
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, only_sleepers_are_pinned_and_woken) {
  LocalInstance instance(kOneCore, 2);
  instance.wake(0);
  EXPECT_TRUE(instance.os.pinned.empty());
  EXPECT_TRUE(instance.os.woken.empty());
  instance.wake(1);
  announce_sleep(instance.threads[1]);
  instance.block(0);
  const std::vector<const TestRecord*> sleeper{&instance.threads[1]};
  EXPECT_EQ(instance.os.pinned, sleeper);
  EXPECT_EQ(instance.os.woken, sleeper);
  // A second time on the same core: it is pinned there already.
  announce_sleep(instance.threads[1]);
  instance.block(1);
  announce_sleep(instance.threads[1]);
  instance.wake(1);
  EXPECT_EQ(instance.os.pinned, sleeper);
  EXPECT_EQ(instance.os.woken.size(), 2u);
}

TEST(Ledger, who_is_away_when_it_is_its_turn_is_left_out) {
  LocalInstance instance(kOneCore, 4);
  for (ThreadIndex thread : {0, 1, 2, 3}) instance.wake(thread);
  for (ThreadIndex thread : {1, 2}) ASSERT_TRUE(go_away(instance.threads[thread]));
  instance.block(0);
  EXPECT_EQ(instance.core(3), 0);
  EXPECT_EQ(instance.state(1), State::external);
  EXPECT_EQ(instance.state(2), State::external);
  instance.from_kernel(1);
  EXPECT_EQ(instance.queue(0), (std::vector<ThreadIndex>{1}));
}

TEST(Ledger, who_is_away_when_it_is_woken_is_left_out) {
  LocalInstance instance(kOneCore, 1);
  ASSERT_TRUE(go_away(instance.threads[0]));
  instance.wake(0);
  EXPECT_EQ(instance.state(0), State::external);
  EXPECT_EQ(instance.owner(0), kNoThread);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, the_watchdog_takes_a_core_only_from_who_has_it) {
  LocalInstance instance({1, 2}, 4);
  occupy(instance);
  instance.place(2, 0, 0);
  instance.wake(2);
  EXPECT_FALSE(instance.ledger.rescue(1, 0));  // another core
  EXPECT_FALSE(instance.ledger.rescue(0, 2));  // not running
  instance.threads[0].state.fetch_or(kPermit);
  EXPECT_TRUE(instance.ledger.rescue(0, 0));
  EXPECT_EQ(instance.threads[0].state.load(),
            static_cast<std::uint32_t>(State::external) | kAtLarge | kPermit);
  EXPECT_EQ(instance.threads[0].counters.rescues, 1u);
  EXPECT_EQ(instance.core(2), 0);
  EXPECT_TRUE(instance.ledger.rescue(1, 1, false));
  EXPECT_EQ(instance.threads[1].counters.shares, 1u);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, a_dead_process_leaves_the_queues_and_nobody_else_does) {
  LocalInstance instance(kTwoNodes, 12);
  occupy(instance);
  for (ThreadIndex thread = 4; thread < 12; ++thread) {
    instance.place(thread, thread % 2 ? 5 : 6, thread % 4);
    instance.wake(thread);
  }
  Threads freed;
  instance.ledger.purge(5, [&](ThreadIndex thread) { freed.push_back(thread); });
  EXPECT_EQ(freed, (Threads{5, 9, 7, 11}));
  for (ThreadIndex thread : freed) change_state(instance.threads[thread], State::free);
  EXPECT_EQ(instance.broken(), "");
  EXPECT_EQ(instance.queue(0), (Threads{4, 8}));
}

// The queues are an index over the records: whatever happens to them, they can be made again.
TEST(Ledger, queues_made_again_from_the_records_are_as_before) {
  LocalInstance instance(kFourNodes, 60);
  occupy(instance);
  std::uint32_t random = 12345;
  for (int step = 0; step < 2000; ++step) {
    random = random * 1664525 + 1013904223;
    ThreadIndex thread = (random >> 8) % 60;
    instance.os.clock += 1000;
    if (instance.state(thread) == State::blocked) {
      instance.place(thread, static_cast<ProcessIndex>(thread % 5), (random >> 16) % 8);
      instance.wake(thread);
    } else if (instance.core(thread) != kNoCore) {
      (random >> 24) % 3 ? static_cast<void>(instance.yield(thread)) : instance.block(thread);
    }
    if (step % 100) continue;
    std::vector<Threads> before;
    for (CoreIndex core = 0; core < 8; ++core) before.push_back(instance.queue(core));
    for (Fifo& fifo : instance.fifos) fifo = {17, 4, 99};
    for (auto& core : instance.cores) {
      core.ready.store(77);
      std::memset(core.ready_processes, 0xff, sizeof core.ready_processes);
    }
    for (auto& mask : instance.queued_mask) mask.bits.store(0);
    for (CoreIndex core = 0; core < 8; ++core) instance.ledger.rebuild(core);
    for (CoreIndex core = 0; core < 8; ++core) EXPECT_EQ(instance.queue(core), before[core]);
    ASSERT_EQ(instance.broken(), "");
  }
}

TEST(Ledger, a_rebuild_passes_over_records_that_make_no_sense) {
  LocalInstance instance(kOneCore, 4);
  for (ThreadIndex thread = 0; thread < 4; ++thread) instance.wake(thread);
  instance.threads[2].process = 4000;
  instance.threads[3].state.store(ready_in_hands_of(queue_of_core(900)));
  instance.ledger.rebuild(0);
  EXPECT_EQ(instance.queue(0), Threads{1});
}

// Cores set aside because others use them (sched/contention.h).
struct SetAside : testing::Test {
  LocalInstance instance{kTwoNodes, 8};
  // Thread i on core i, and thread 4 waits for `core`.
  void occupy_and_queue(CoreIndex core) {
    occupy(instance);
    instance.place(4, 0, core);
    instance.wake(4);
  }
  void set_aside(CoreIndex core) { set_bit(instance.contended, core); }
  void put_back(CoreIndex core) {
    clear_bit(instance.contended, core);
    instance.ledger.serve_free(core);
  }
};

TEST_F(SetAside, a_free_core_is_granted_to_nobody_at_once) {
  set_aside(0);
  for (ThreadIndex thread = 0; thread < 4; ++thread) {
    instance.place(thread, 0, 0);
    instance.wake(thread);
  }
  EXPECT_EQ(instance.core(0), 1);  // of its node
  EXPECT_EQ(instance.core(1), 2);
  EXPECT_EQ(instance.core(2), 3);
  EXPECT_EQ(instance.state(3), State::ready);
  EXPECT_EQ(instance.queue(1), Threads{3});  // where a core will come free
}

TEST_F(SetAside, it_serves_who_has_waited_for_longer_than_a_slice) {
  occupy_and_queue(0);
  set_aside(0);
  instance.block(0);
  EXPECT_EQ(instance.state(4), State::ready);
  instance.ledger.serve_free(0);
  EXPECT_EQ(instance.state(4), State::ready);
  instance.os.clock += 4 * kMillisecond;
  instance.ledger.serve_free(0);
  EXPECT_EQ(instance.core(4), 0);
  EXPECT_EQ(instance.threads[4].granted_ns, instance.os.clock);
}

TEST_F(SetAside, others_take_from_its_queue) {
  occupy_and_queue(0);
  set_aside(0);
  instance.block(0);
  instance.block(3);
  EXPECT_EQ(instance.core(4), 3);
}

TEST_F(SetAside, on_trial_it_serves_nobody) {
  occupy_and_queue(0);
  instance.os.clock += 100 * kMillisecond;
  set_aside(0);
  set_bit(instance.on_trial, 0);
  instance.block(0);
  instance.ledger.serve_free(0);
  EXPECT_EQ(instance.state(4), State::ready);
}

TEST_F(SetAside, who_yields_there_goes_on_elsewhere) {
  occupy_and_queue(1);
  set_aside(0);
  instance.yield(0);
  EXPECT_EQ(instance.state(0), State::ready);
  EXPECT_EQ(instance.queue(1), (Threads{4, 0}));
  EXPECT_EQ(instance.owner(0), kNoThread);
}

TEST_F(SetAside, who_yields_there_alone_stays) {
  instance.place(0, 0, 0);
  instance.wake(0);
  set_aside(0);
  instance.yield(0);
  EXPECT_EQ(instance.core(0), 0);
}

TEST_F(SetAside, once_put_back_it_is_like_the_others) {
  occupy_and_queue(0);
  set_aside(0);
  instance.block(0);
  put_back(0);
  EXPECT_EQ(instance.core(4), 0);
  instance.block(4);
  instance.place(5, 0, 0);
  instance.wake(5);
  EXPECT_EQ(instance.core(5), 0);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, a_thousand_cores_are_found_and_left_one_by_one) {
  LocalInstance instance({8, 128}, 1025);
  for (ThreadIndex thread = 0; thread < 1025; ++thread) {
    instance.place(thread, 0, 700);
    instance.wake(thread);
  }
  EXPECT_EQ(instance.state(1024), State::ready);
  EXPECT_EQ(instance.broken(), "");
  for (ThreadIndex thread = 0; thread < 1025; ++thread) instance.block(thread);
  EXPECT_EQ(instance.broken(), "");
  for (CoreIndex core = 0; core < 1024; ++core) ASSERT_EQ(instance.owner(core), kNoThread);
}

}  // namespace
}  // namespace roost
