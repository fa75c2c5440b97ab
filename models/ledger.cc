// Model of the ledger: cores and READY threads always find each other, however calls fall together.
#include "check.h"
#include "ledger_world.h"

namespace roost::model {
namespace {

// A thread becomes READY while both cores are being released.
struct ReadyAgainstRelease : rl::test_suite<ReadyAgainstRelease, 3> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.start_running(1, 1);
    if (rl::rand(2)) i.start_stale(static_cast<CoreIndex>(rl::rand(2)));
  }
  void thread(unsigned index) {
    if (index == 2) {
      i.wake(2);
    } else {
      i.block(index);
    }
  }
  void after() {
    i.check();
    RL_ASSERT(i.running(2));
  }
};

// A thread hands its core over while the other core looks for work.
struct YieldAgainstRelease : rl::test_suite<YieldAgainstRelease, 2> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.start_running(1, 1);
    i.start_ready(2, 0);
  }
  void thread(unsigned index) {
    if (index == 0) {
      i.yield(0);
    } else {
      i.block(1);
    }
  }
  void after() {
    i.check();
    RL_ASSERT(i.running(0) && i.running(2));
  }
};

// A core is set aside and put back [contended-1] while its thread blocks, another core's thread
// goes idle and a third becomes READY. (Taking the fences away shows nothing: a compare-and-swap
// that fails reads the newest value here, which C++ does not promise.)
struct SetAside : rl::test_suite<SetAside, 3> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.start_running(1, 1);
  }
  void thread(unsigned index) {
    if (index == 0) i.block(0);
    if (index == 1) {
      i.wake(2);
      i.block(1);
    }
    if (index == 2) {
      i.set_aside(0);
      i.put_back(0);
    }
  }
  void after() {
    i.check();
    RL_ASSERT(i.running(2));
  }
};

// A thread waits behind its waker, which does not leave its core after all, while the thread that
// attends the idle core goes to sleep, or is woken itself [attend-1].
struct BehindWaker : rl::test_suite<BehindWaker, 3> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.os.leaves = 0;
    i.ledger.attend(1, 1);
  }
  void thread(unsigned index) {
    if (index == 0) i.wake(2);
    if (index == 1) i.ledger.end_attendance(1);
    if (index == 2 && rl::rand(2)) i.wake(1);
  }
  void after() {
    i.check();
    RL_ASSERT(i.cores[1].owner.load() != 0);
  }
};

// A sleeping thread is left to the attendant of the core it is to have, who is on its way to sleep
// or is woken itself, while another core goes idle, which may take it to be served [attend-1].
struct LeftToAttendant : rl::test_suite<LeftToAttendant, 3> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.threads[3].last_core = 1;
    i.threads[3].state.store(static_cast<std::uint32_t>(State::blocked) | kSleeping,
                             std::memory_order_relaxed);
    i.ledger.attend(1, 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      i.wake(3);
      if (rl::rand(2)) i.block(0);
    }
    if (index == 1) {
      if (i.ledger.is_called(1)) i.ledger.serve_free(1);
      i.ledger.end_attendance(1);
    }
    if (index == 2 && rl::rand(2)) i.wake(1);
  }
  void after() { i.check(); }
};

// A thread that was just woken is left at its busy core by one that goes idle and attends its own,
// and then goes to sleep or is woken itself, while the busy core comes free or does not [attend-1].
struct LeftAtItsCore : rl::test_suite<LeftAtItsCore, 3> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.start_running(1, 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      i.wake(2);
      if (rl::rand(2)) i.block(0);
    }
    if (index == 1) i.attend(1);
    if (index == 2 && rl::rand(2)) i.wake(1);
  }
  void after() { i.check(); }
};

// Somebody looks into a queue that was empty a moment ago, and finds its bit out of date.
struct StaleBit : rl::test_suite<StaleBit, 4> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.start_running(1, 1);
    i.start_stale(0);
  }
  void thread(unsigned index) {
    if (index == 0) i.block(0);
    if (index == 1) i.yield(1);
    if (index == 2) i.wake(2);
    if (index == 3) i.find_queued();
  }
  void after() { i.check(); }
};

// The watchdog takes a core from a thread that is just blocking and just being woken.
struct RescueAgainstBlock : rl::test_suite<RescueAgainstBlock, 3> {
  Instance i;
  void before() {
    i.watch_words = false;
    i.start_running(0, 0);
    i.start_running(1, 1);
    i.start_ready(2, 0);
  }
  void invariant() { i.invariant(); }
  void thread(unsigned index) {
    if (index == 0) i.block(0);
    if (index == 1) i.rescue(0);
    if (index == 2) i.wake(0);
  }
  void after() { i.check(); }
};

// The same while it yields.
struct RescueAgainstYield : rl::test_suite<RescueAgainstYield, 3> {
  Instance i;
  void before() {
    i.watch_words = false;
    i.start_running(0, 0);
    i.start_running(1, 1);
    i.start_ready(2, static_cast<CoreIndex>(rl::rand(2)));
  }
  void invariant() { i.invariant(); }
  void thread(unsigned index) {
    if (index == 0) i.yield(0);
    if (index == 1) i.block(1);
    if (index == 2) i.rescue(0);
  }
  void after() { i.check(); }
};

// Anything at all: two threads with a core and an outsider do a few things each, then compute for
// ever; whoever is READY then must have found a core if one was free.
struct Scripts : rl::test_suite<Scripts, 3> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.start_running(1, 1);
    if (rl::rand(2)) i.start_ready(2, static_cast<CoreIndex>(rl::rand(2)));
    if (rl::rand(2)) i.start_stale(static_cast<CoreIndex>(rl::rand(2)));
    i.watch_words = rl::rand(2);
  }
  void invariant() { i.invariant(); }
  void thread(unsigned index) {
    for (unsigned step = 0; step < 2; ++step) {
      if (index < 2 && !i.running(index)) return;
      unsigned choice = rl::rand(3);
      if (choice == 0 || (index == 2 && i.watch_words)) {
        i.wake(rl::rand(kThreads));
      } else if (index == 2) {
        i.rescue(rl::rand(2));
      } else if (choice == 1) {
        i.yield(index);
      } else {
        i.block(index);
        return;
      }
    }
  }
  void after() { i.check(); }
};

// Turns are long: 0 and 1, on a core each, yield or block, and the watchdog takes a core.
template <class Scene>
struct LongTurns : rl::test_suite<Scene, 3> {
  static constexpr Nanoseconds kLong = 10'000'000;
  Instance i;
  void begin() {
    i.os.clock = 10 * kLong;
    for (ThreadIndex owner : {0, 1}) i.start_running(owner, static_cast<CoreIndex>(owner));
    i.watch_words = false;  // a yield and a rescue, as above
  }
  void invariant() { i.invariant(); }
  void thread(unsigned index) {
    if (index == 2) {
      i.rescue(rl::rand(kThreads));
    } else if (rl::rand(2)) {
      i.yield(index);
    } else {
      i.block(index);
    }
  }
  void after() { i.check(); }
};

// Of two queues the longer one has waited longer: whoever leaves or loses core 0 may hand it to a
// thread from there, while that core changes hands, too.
struct Guests : LongTurns<Guests> {
  void before() {
    begin();
    i.os.step = kLong;
    i.threads[2].ready_ns = 9 * kLong;
    i.start_ready(2, 0);
    for (ThreadIndex old : {3, 4}) i.start_ready(old, 1);
  }
};

// A process has a thread on core 0 and one that waits for core 1, which serves another process; one
// of that process has waited long for core 0.
struct Siblings : LongTurns<Siblings> {
  void before() {
    begin();
    i.threads[3].ready_ns = 8 * kLong;
    i.start_ready(3, 0);
    i.start_ready(2, 1);
  }
};

// Everything that anybody has in his hands may be taken from him at any moment, as from one who is
// stopped there, and he goes on later: locks by who waits for them, cores and threads by a leader.
struct Overtaken : rl::test_suite<Overtaken, 3> {
  Instance i;
  void before() {
    i.watch_words = i.watch_queues = false;
    i.overtaken = true;
    i.os.step = 10'000'000;
    i.os.lock_tries = 2;
    i.os.steps = rl::rand(24);
    i.start_running(0, 0);
    if (rl::rand(2)) i.start_running(1, 1);
    if (rl::rand(2)) i.start_ready(2, static_cast<CoreIndex>(rl::rand(2)));
    if (rl::rand(2)) i.start_ready(3, static_cast<CoreIndex>(rl::rand(2)));
  }
  void invariant() { i.invariant(); }
  void thread(unsigned index) {
    for (unsigned step = 0; step < (index == 2 ? 4u : 2u); ++step) {
      if (index == 2) {
        switch (rl::rand(3)) {
          case 0:
            i.overtake_core(static_cast<CoreIndex>(rl::rand(kCores)));
            break;
          case 1:
            i.overtake_thread(rl::rand(kThreads));
            break;
          default:
            i.rescue(rl::rand(2));
        }
        continue;
      }
      if (rl::rand(2) || !i.running(index)) {
        i.wake(rl::rand(kThreads));
      } else if (rl::rand(2)) {
        i.yield(index);
      } else {
        i.block(index);
        return;
      }
    }
  }
  void after() {
    i.mend_hints();
    i.check();
  }
};

// Whole lives: three threads on two cores compute, wake each other in a ring, wait and end.
struct Lives : rl::test_suite<Lives, 3> {
  Instance i;
  void before() {
    i.start_running(0, 0);
    i.start_running(1, 1);
    i.start_ready(2, 0);
  }
  void invariant() { i.invariant(); }
  void thread(unsigned index) {
    if (index == 2) i.wait_for_grant(2);
    i.compute(index);
    if (rl::rand(2)) {
      i.yield(index);
      i.wait_for_grant(index);
      i.compute(index);
    }
    i.wake((index + 1) % 3);
    i.park(index);
    i.compute(index);
    i.end(index);
  }
  void after() {
    i.check();
    RL_ASSERT(i.cores[0].owner.load() == 0 && i.cores[1].owner.load() == 0);
  }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<ReadyAgainstRelease>("make_ready against two releases:", 300000);
  check.holds<YieldAgainstRelease>("yield against release:", 300000);
  check.holds<SetAside>("a core set aside and put back against release and make_ready:", 300000);
  check.holds<BehindWaker>("a thread behind its waker against the end of an attendance:", 300000);
  check.holds<LeftToAttendant>("a thread left to an attendant against its end and an idle core:",
                               300000);
  check.holds<LeftAtItsCore>("a thread left at its core against an attendant and the core's end:",
                             300000);
  check.holds<StaleBit>("a stale bit against yield, release and make_ready:", 300000);
  check.holds<RescueAgainstBlock>("rescue against block and wake-up:", 300000);
  check.holds<RescueAgainstYield>("rescue against yield and release:", 300000);
  check.holds<Scripts>("random scripts:", 500000);
  check.holds<Guests>("a guest from a longer queue against yield, block and rescue:", 300000);
  check.holds<Siblings>("a turn that goes on with a thread of another queue:", 300000);
  check.holds<Overtaken>("all is overtaken:", 1000000);
  check.holds<Lives>("whole lives of three threads on two cores:", 300000);
  // [idle-1], both sides, and once more for who yields: a free core and a READY thread miss each
  // other.
  const char *ledger = "sched/core_grants.h", *queues = "sched/ready_queues.h";
  check.fails_without<ReadyAgainstRelease>({Take::fence, ledger, "serve_idle"},
                                           rl::test_result_user_assert_failed, 300000);
  check.fails_without<ReadyAgainstRelease>({Take::fence, ledger, "release_after"},
                                           rl::test_result_user_assert_failed, 300000);
  check.fails_without<YieldAgainstRelease>({Take::fence, ledger, "serve_idle"},
                                           rl::test_result_user_assert_failed, 300000);
  check.fails_without<BehindWaker>({Take::fence, ledger, "rely_on_attendant"},
                                   rl::test_result_user_assert_failed, 300000);
  check.fails_without<LeftToAttendant>({Take::fence, ledger, "rely_on_attendant"},
                                       rl::test_result_user_assert_failed, 300000);
  check.fails_without<LeftToAttendant>({Take::fence, ledger, "end_attendance"},
                                       rl::test_result_user_assert_failed, 300000);
  check.fails_without<BehindWaker>({Take::fence, ledger, "end_attendance"},
                                   rl::test_result_user_assert_failed, 300000);
  check.fails_without<Scripts>({Take::orderings, queues, "lock"}, rl::test_result_data_race,
                               300000);
  check.fails_without<Scripts>({Take::orderings, queues, "unlock"}, rl::test_result_data_race,
                               300000);
  check.fails_without<Lives>({Take::orderings, "segment/thread_state.h", "grant"},
                             rl::test_result_user_assert_failed, 300000, rl::test_result_data_race);
  return check.result();
}
