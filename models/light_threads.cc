// Model of light threads: tickets of a batch, waiting for a condition, the sleep of a carrier, and
// the arrival tree of a team's barrier.
#include "check.h"
#include "omp/barrier.h"
#include "omp/gates.h"
#include "ult/batch.h"
#include "ult/sleep_word.h"
#include "ult/wait_list.h"

namespace roost::model {
namespace {

// A batch is opened twice; a thief may hold on to what it saw of the first round. Each call is made
// once, by somebody who sees what the batch is then.
struct TicketsModel : rl::test_suite<TicketsModel, 3> {
  ult::Tickets<World> tickets;
  rl::var<int> what{0};  // written before the batch is opened
  Atomic<unsigned> made{0};

  void call(unsigned number) {
    RL_ASSERT(number == 1 || number == 2);
    RL_ASSERT(what($) == 1 || what($) == 2);
    made.fetch_add(1, std::memory_order_acq_rel);
  }
  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned round = 1; round <= 2; ++round) {
        what($) = static_cast<int>(round);
        tickets.open(1, 3);
        for (unsigned number; (number = tickets.take()) != ult::kNoCall;) call(number);
        while (made.load(std::memory_order_acquire) != 2 * round) World::relax(1);
      }
    } else {
      for (int tries = 0; tries < 2; ++tries) {
        auto seen = tickets.look();
        if (tickets.left(seen) && tickets.take_if(seen)) call(tickets.next(seen));
      }
    }
  }
  void after() { RL_ASSERT(made.load() == 4); }
};

// Calls are added to a batch while others take some (omp/crew.cc); each sees what its call is.
struct AddedTicketsModel : rl::test_suite<AddedTicketsModel, 3> {
  ult::Tickets<World> tickets;
  rl::var<int> what[3]{0, 0, 0};
  Atomic<unsigned> made{0};

  void call(unsigned number) {
    RL_ASSERT(number < 3);
    RL_ASSERT(what[number]($) == 1);
    what[number]($) = 2;
    made.fetch_add(1, std::memory_order_acq_rel);
  }
  void thread(unsigned index) {
    if (index == 0) {
      what[0]($) = 1;
      tickets.open(0, 1);
      for (int added : {1, 2}) {
        what[added]($) = 1;
        tickets.add();
      }
      for (unsigned number; (number = tickets.take()) != ult::kNoCall;) call(number);
      while (made.load(std::memory_order_acquire) != 3) World::relax(1);
    } else {
      for (int tries = 0; tries < 2; ++tries) {
        auto seen = tickets.look();
        if (tickets.left(seen) && tickets.take_if(seen)) call(tickets.next(seen));
      }
    }
  }
  void after() { RL_ASSERT(made.load() == 3); }
};

// Strands that are suspended and made ready.
struct Strands {
  Kernel kernel;
  Atomic<unsigned> woken[3];

  void wake(unsigned who) {
    if (!woken[who].exchange(1, std::memory_order_acq_rel)) kernel.wake(&woken[who]);
  }
  // As a carrier does: what it looks at next is newer than the signal.
  void suspend(unsigned index) {
    while (!woken[index].exchange(0, std::memory_order_acq_rel)) kernel.wait(woken[index], 0u);
  }
  // As ult::wait_until(): for `condition`, at the list, of which wake_all() wakes those who wait.
  template <class List, class WakeAll>
  void wait_until(const Atomic<unsigned>& condition, unsigned index, List& list,
                  WakeAll&& wake_all) {
    ult::WaitStack<World, unsigned>::Waiter waiter;
    waiter.who = index;
    while (!condition.load(std::memory_order_acquire)) {
      if (!waiter.is_listed()) {
        list.push(waiter);
        continue;
      }
      suspend(index);
    }
    while (waiter.is_listed()) {
      wake_all();
      if (waiter.is_listed()) suspend(index);
    }
  }
};

// Two wait for a condition, one makes it hold. Nobody is left asleep, and what was done before is
// seen.
struct WaitModel : rl::test_suite<WaitModel, 3> {
  Strands strands;
  ult::WaitStack<World, unsigned> list;
  Atomic<unsigned> condition{0};
  rl::var<int> data{0};

  void wake_all() {
    if (list.has_waiters()) list.take_all([this](unsigned who) { strands.wake(who); });
  }
  void thread(unsigned index) {
    if (index == 0) {
      data($) = 1;
      condition.store(1, std::memory_order_release);
      wake_all();
    } else {
      strands.wait_until(condition, index, list, [this] { wake_all(); });
      RL_ASSERT(data($) == 1);
    }
  }
};

// The same with lists for several carriers: two wait, at one list or at two, and wake who waits at
// their own when they leave.
template <bool apart>
struct GatesModel : rl::test_suite<GatesModel<apart>, 3> {
  struct List : ult::WaitStack<World, unsigned> {
    bool is_waited_for() const { return this->seems_to_have_waiters(); }
    void wake_seen() {
      if (is_waited_for()) this->take_all([](unsigned who) { model->strands.wake(who); });
    }
  };
  using Gates = omp::Gates<World, List>;
  static constexpr unsigned kCarriers[3] = {0, 1, apart ? 2 : 1 + Gates::kGates};
  static inline GatesModel* model = nullptr;
  Strands strands;
  Gates gates;
  Atomic<unsigned> epoch{0};
  rl::var<int> data{0};

  void before() { model = this; }
  void thread(unsigned index) {
    unsigned carrier = kCarriers[index];
    if (index == 0) {
      data($) = 1;
      epoch.store(1, std::memory_order_release);
      gates.release(carrier, 1);
    } else {
      strands.wait_until(epoch, index, gates.gate_of(carrier, true), [this] { gates.wake_all(); });
      gates.leave(carrier, 1);
      RL_ASSERT(data($) == 1);
    }
  }
};

// A carrier sleeps; two others give it something, one mail and one a woken strand. In the end it is
// counted as active, once.
struct SleepModel : rl::test_suite<SleepModel, 3> {
  Kernel kernel;
  ult::SleepWord<World> word;
  Atomic<unsigned> given[2];
  Atomic<unsigned> active{1};

  void after() { RL_ASSERT(active.load(std::memory_order_relaxed) == 1); }

  void thread(unsigned index) {
    if (index > 0) {
      given[index - 1].store(1, std::memory_order_release);
      ult::Sleep ended = word.end();
      if (ended == ult::kAwake) return;
      if (ended == ult::kAsleepFromWork) active.fetch_add(1, std::memory_order_relaxed);
      kernel.wake(&word.asleep);
      return;
    }
    for (unsigned got = 0; got < 2;) {
      for (auto& one : given) got += one.exchange(0, std::memory_order_acquire);
      if (got == 2) return;
      active.fetch_sub(1, std::memory_order_relaxed);
      word.announce(ult::kAsleepFromWork);
      if (!given[0].load(std::memory_order_relaxed) && !given[1].load(std::memory_order_relaxed)) {
        while (word.is_set())
          kernel.wait(word.asleep, static_cast<std::uint32_t>(ult::kAsleepFromWork));
      }
      if (word.cancel() != ult::kAwake) active.fetch_add(1, std::memory_order_relaxed);
    }
  }
};

// Three members meet twice, in a tree of fan-in two. All see what all did before.
struct BarrierModel : rl::test_suite<BarrierModel, 3> {
  omp::ArrivalNode<World> nodes[3];
  Atomic<unsigned> epoch{0};
  rl::var<int> mine[3];

  void before() {
    for (auto& one : mine) one($) = 0;
  }
  void thread(unsigned index) {
    for (int round = 1; round <= 2; ++round) {
      mine[index]($) = round;
      meet(index);
      for (auto& one : mine) RL_ASSERT(one($) == round);
      meet(index);
    }
  }
  void meet(unsigned index) {
    unsigned before = epoch.load(std::memory_order_relaxed);
    if (omp::arrive<World, 2>(nodes, 3, index)) {
      epoch.store(before + 1, std::memory_order_release);
      return;
    }
    while (epoch.load(std::memory_order_acquire) == before) World::relax(1);
  }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<TicketsModel>("tickets: each call is made once, and sees its batch", 100000);
  check.fails_without<TicketsModel>({Take::orderings, "ult/batch.h", "open"},
                                    rl::test_result_data_race, 100000);
  check.holds<AddedTicketsModel>("tickets: calls that are added are made once, and seen", 100000);
  check.fails_without<AddedTicketsModel>({Take::orderings, "ult/batch.h", "add"},
                                         rl::test_result_data_race, 100000);
  check.holds<WaitModel>("waiting: no wake-up is lost", 100000);
  check.fails_without<WaitModel>({Take::fence, "ult/wait_list.h", "push"}, rl::test_result_deadlock,
                                 100000);
  check.holds<SleepModel>("sleep: a carrier that was given something does not sleep", 100000);
  check.fails_without<SleepModel>({Take::fence, "ult/sleep_word.h", "announce"},
                                  rl::test_result_deadlock, 100000);
  check.fails_without<WaitModel>({Take::fence, "ult/wait_list.h", "has_waiters"},
                                 rl::test_result_deadlock, 100000);
  check.fails_without<SleepModel>({Take::fence, "ult/sleep_word.h", "end"},
                                  rl::test_result_deadlock, 100000);
  check.holds<GatesModel<true>>("gates: no wake-up is lost at lists apart", 100000);
  check.holds<GatesModel<false>>("gates: no wake-up is lost at one that is shared", 100000);
  check.fails_without<GatesModel<true>>({Take::fence, "omp/gates.h", "release"},
                                        rl::test_result_deadlock, 100000);
  check.holds<BarrierModel>("barrier: all see what all did before", 100000);
  check.fails_without<BarrierModel>({Take::orderings, "omp/barrier.h", "arrive"},
                                    rl::test_result_data_race, 100000);
  return check.result();
}
