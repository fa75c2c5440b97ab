// Model of block, unpark, permit and grant: one thread that blocks, two that wake it.
#include "segment/thread_state.h"

#include "check.h"

namespace roost::model {
namespace {

using Record = ThreadRecord<World>;

// The blocking half as in park() and wait_for_grant() of sched/, with one core that the
// unparker grants at once (the ledger has a model of its own).
struct Sleeper {
  Kernel kernel;
  Record record;
  rl::var<int> pinned{0};  // stands for the plain fields that whoever holds the thread writes
  static constexpr CoreIndex kCore = 1;
  static constexpr Party kOwn = 9;

  Sleeper() { record.state.store(running_on(0), std::memory_order_relaxed); }

  void park() {
    pinned($) = 1;
    if (begin_block(record).block == Block::permit) return;
    wait_awake();
    for (;;) {
      std::uint32_t word = announce_sleep(record);
      if (state_of(word) == State::running) break;
      if (state_of(word) == State::external) {
        hold_ready(record, kOwn);
        grant(record, kCore, kOwn, [] {});
        continue;
      }
      handler_waits();
      kernel.wait(record.state, word);
    }
    pinned($) = 2;
  }
  // Sometimes a handler interrupts the sleep, which then goes on as it began.
  void handler_waits() {
    if (rl::rand(2) || !go_away(record)) return;
    World::relax(0);
    come_back(record);
  }
  // Sometimes a turn in the run queue comes first, as in sched/grant_wait.cc.
  void wait_awake() {
    if (!rl::rand(2) || state_of(announce_awake(record)) == State::running) return;
    World::relax(0);
  }
  void wake() {
    if (!unpark(record, 1)) return;
    if (grant(record, kCore, 1, [&] { pinned($) = 3; }) == Grant::sleeps)
      kernel.wake(&record.state);
  }
};

// Every wake-up is seen by the block it is meant for, however the two fall together.
struct TwoUnparkers : rl::test_suite<TwoUnparkers, 3> {
  Sleeper sleeper;
  World::atomic<unsigned> called[2];

  unsigned calls() {
    return called[0].load(std::memory_order_relaxed) + called[1].load(std::memory_order_relaxed);
  }

  void thread(unsigned index) {
    if (index > 0) {
      called[index - 1].store(1, std::memory_order_relaxed);
      sleeper.wake();
      return;
    }
    for (unsigned parks = 0; calls() < 2; ++parks) {
      sleeper.park();
      RL_ASSERT(calls() > 0);  // what was written before the wake-up is visible after it
      RL_ASSERT(parks < 2);    // and nobody wakes for nothing
    }
  }
};

// What one side wrote before it woke the other is there when that one runs, in both directions.
struct Messages : rl::test_suite<Messages, 2> {
  Sleeper sleepers[2];
  rl::var<int> message{0};

  void thread(unsigned index) {
    for (int round = 0; round < 2; ++round) {
      if (index == 0) {
        message($) = 2 * round + 1;
        sleepers[1].wake();
        sleepers[0].park();
        RL_ASSERT(message($) == 2 * round + 2);
      } else {
        sleepers[1].park();
        RL_ASSERT(message($) == 2 * round + 1);
        message($) = 2 * round + 2;
        sleepers[0].wake();
      }
    }
  }
};

// A timeout and a wake-up race: exactly one of them turns BLOCKED into READY.
struct TimeoutAgainstUnpark : rl::test_suite<TimeoutAgainstUnpark, 2> {
  Record record;
  unsigned holders = 0;

  void before() { record.state.store(running_on(0), std::memory_order_relaxed); }
  void thread(unsigned index) {
    if (index == 0) {
      if (begin_block(record).block == Block::permit) return;
      announce_sleep(record);
      if (cancel_block(record, 1)) ++holders;
    } else if (unpark(record, 1)) {
      ++holders;
    }
  }
  void after() {
    std::uint32_t word = record.state.load();
    bool ready = state_of(word) == State::ready;
    RL_ASSERT(ready ? holders == 1 : holders == 0 && state_of(word) == State::running);
  }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<TwoUnparkers>("one sleeper, two unparkers:", 1000000);
  check.holds<Messages>("two threads that wake each other:", 1000000);
  check.holds<TimeoutAgainstUnpark>("a timeout against an unpark:", 300000);
  // [unpark-1] and [grant-1], release and acquire.
  for (const char* function : {"unpark", "begin_block", "grant", "announce"}) {
    check.fails_without<Messages>({Take::orderings, "segment/thread_state.h", function},
                                  rl::test_result_data_race, 1000000);
  }
  return check.result();
}
