// Whose turn it is where processes share cores whose queues are unequal, or hold parts of a
// process. Without interludes, which turns_test.cc is about.
#include <gtest/gtest.h>

#include "sched/local_instance_test.h"

namespace roost {
namespace {

using Threads = std::vector<ThreadIndex>;

struct TurnsOfCores : testing::Test {
  TurnsOfCores() { instance.set("brief", 0); }
  void put(ThreadIndex thread, ProcessIndex process, CoreIndex core) {
    instance.place(thread, process, core);
    instance.wake(thread);
  }
  LocalInstance instance{{1, 2}, 6, kCoop, 6};
};

// Two cores of a node, which 0 and 1 of one process have; of the others, a process each, one waits
// for core 0 and three for core 1, for 10 ms or more.
struct UnequalQueues : TurnsOfCores {
  UnequalQueues() {
    occupy(instance);
    for (ThreadIndex t : {3, 4, 5}) {
      queue_on(1, t);
      instance.os.clock += 3 * kMillisecond;
    }
    queue_on(0, 2);
    instance.os.clock += 10 * kMillisecond;
  }
  void queue_on(CoreIndex core, ThreadIndex thread) {
    put(thread, static_cast<ProcessIndex>(thread), core);
  }
};

TEST_F(UnequalQueues, a_thread_that_has_waited_much_longer_in_a_longer_one_goes_first) {
  instance.block(0);
  EXPECT_EQ(instance.owner(0), 3u);
  EXPECT_EQ(instance.queue(0), Threads{2});
  EXPECT_EQ(instance.queue(1), (Threads{4, 5}));
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(UnequalQueues, not_two_turns_in_a_row) {
  instance.block(0);
  instance.block(3);
  EXPECT_EQ(instance.owner(0), 2u);
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(UnequalQueues, who_yields_gives_way_to_it_as_well) {
  EXPECT_TRUE(instance.yield(0, 200'000));
  EXPECT_EQ(instance.owner(0), 3u);
  EXPECT_EQ(instance.queue(0), (Threads{0, 2}));
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(UnequalQueues, of_queues_as_long_as_its_own_a_core_takes_nothing) {
  instance.block(1);  // serves 3
  queue_on(0, 1);     // two and two wait
  instance.os.clock += 10 * kMillisecond;
  instance.block(0);
  EXPECT_EQ(instance.owner(0), 1u);
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(UnequalQueues, tell_whether_it_is_the_turn_of_another_process) {
  instance.block(0);  // serves 3
  EXPECT_FALSE(instance.ledger.turn_is_over(0, 3));
  instance.os.clock += 19 * kMillisecond;
  EXPECT_FALSE(instance.ledger.turn_is_over(0, 3));
  instance.os.clock += kMillisecond;
  EXPECT_TRUE(instance.ledger.turn_is_over(0, 3));
  instance.block(3);  // serves 2
  instance.os.clock += 20 * kMillisecond;
  EXPECT_FALSE(instance.ledger.turn_is_over(0, 2));  // nobody waits
}

TEST(Ledger, where_waits_are_short_unequal_queues_are_left_alone) {
  LocalInstance instance({1, 2}, 6, kCoop, 6);
  for (ThreadIndex t = 0; t < 6; ++t)
    instance.place(t, static_cast<ProcessIndex>(t), t == 2 ? 0 : 1);
  occupy(instance);
  for (ThreadIndex t : {3, 4, 5}) instance.wake(t);
  instance.os.clock += 3 * kMillisecond;
  instance.wake(2);
  instance.os.clock += kMillisecond;
  instance.block(0);
  EXPECT_EQ(instance.owner(0), 2u);
  EXPECT_EQ(instance.broken(), "");
}

TEST(Ledger, a_process_keeps_its_turn_from_those_who_have_waited_longer_elsewhere) {
  LocalInstance instance({1, 2}, 6, kCoop, 6);
  instance.set("quantum", 1000 * kMillisecond);
  for (ThreadIndex t = 0; t < 6; ++t)
    instance.place(t, t == 2 ? 0 : static_cast<ProcessIndex>(t), t == 2 ? 0 : 1);
  occupy(instance);
  for (ThreadIndex t : {3, 4, 5}) instance.wake(t);
  instance.os.clock += 10 * kMillisecond;
  instance.wake(2);
  instance.os.clock += 10 * kMillisecond;
  instance.block(0);  // of the process of 2
  EXPECT_EQ(instance.owner(0), 2u);
  EXPECT_EQ(instance.broken(), "");
}

// Two threads of one process have core 1 and yield to each other; five processes share core 0.
TEST(Ledger, a_process_alone_on_its_core_gives_way_once_its_quantum_is_over) {
  LocalInstance instance({1, 2}, 7, kCoop, 6);
  for (ThreadIndex t : {5, 0, 1, 2, 3, 4, 6}) {
    instance.place(t, static_cast<ProcessIndex>(t < 5 ? t : 5), t < 5 ? 0 : 1);
    instance.wake(t);
  }
  Nanoseconds began = instance.os.clock;
  for (int turn = 0; turn < 300 && instance.owner(1) >= 5; ++turn) {
    instance.os.clock += 3 * kMillisecond;
    ASSERT_TRUE(instance.yield(instance.owner(1), kMillisecond));
  }
  EXPECT_LT(instance.owner(1), 5u);
  EXPECT_GE(instance.os.clock - began, 20 * kMillisecond);
  EXPECT_EQ(instance.broken(), "");
}

// Two cores, each with a thread of process 0 or, core 1, of `beside`: 0 and 2. Process 0 has a
// further thread, 1, which waits for core 1; 3 of another process has waited long for core 0.
struct SplitProcess : TurnsOfCores {
  explicit SplitProcess(ProcessIndex beside = 1) {
    put(0, 0, 0);
    put(2, beside, 1);
    put(3, 2, 0);
    instance.os.clock += 10 * kMillisecond;
    put(1, 0, 1);
  }
};

TEST_F(SplitProcess, its_turn_goes_on_with_those_who_wait_for_other_cores) {
  instance.block(0);
  EXPECT_EQ(instance.owner(0), 1u);
  EXPECT_EQ(instance.queue(0), Threads{3});
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(SplitProcess, who_yields_gives_way_to_them_and_they_have_come_together) {
  EXPECT_TRUE(instance.yield(0, kMillisecond));
  EXPECT_EQ(instance.owner(0), 1u);
  EXPECT_EQ(instance.queue(0), (Threads{0, 3}));
  EXPECT_TRUE(instance.yield(1, kMillisecond));
  EXPECT_EQ(instance.owner(0), 0u);
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(SplitProcess, who_yields_joins_them_where_the_queue_is_shorter) {
  put(4, 3, 0);
  put(5, 4, 0);
  EXPECT_TRUE(instance.yield(0, kMillisecond));
  EXPECT_EQ(instance.owner(0), 3u);
  EXPECT_EQ(instance.queue(0), (Threads{4, 5}));
  EXPECT_EQ(instance.queue(1), (Threads{1, 0}));
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(SplitProcess, until_its_quantum_is_over) {
  instance.os.clock += 10 * kMillisecond;
  instance.block(0);
  EXPECT_EQ(instance.owner(0), 3u);
  EXPECT_EQ(instance.broken(), "");
}

TEST_F(SplitProcess, not_where_turns_are_short) {
  instance.block(0);
  instance.block(1);
  instance.os.clock += kMillisecond;
  put(0, 0, 0);
  put(1, 0, 1);
  EXPECT_TRUE(instance.yield(3, kMillisecond));
  EXPECT_TRUE(instance.yield(0, kMillisecond));
  EXPECT_EQ(instance.owner(0), 3u);
  EXPECT_EQ(instance.broken(), "");
}

struct ProcessOnBothCores : SplitProcess {
  ProcessOnBothCores() : SplitProcess(0) {}
};

TEST_F(ProcessOnBothCores, keeps_its_threads_where_they_are) {
  instance.block(0);
  EXPECT_EQ(instance.owner(0), 3u);
  EXPECT_EQ(instance.queue(1), Threads{1});
  EXPECT_EQ(instance.broken(), "");
}

}  // namespace
}  // namespace roost
