// Model of the watchdog's signal: two that ask a thread by it, beside the thread's system calls.
#include "segment/nudge_word.h"

#include "check.h"

namespace roost::model {
namespace {

// No signal is sent while the thread is in a call, nor before it without arriving before it.
struct SignalsBesideCalls : rl::test_suite<SignalsBesideCalls, 3> {
  NudgeWord<World> nudge;
  World::atomic<unsigned> has_core;
  World::atomic<unsigned> sent;
  rl::var<int> call{0};  // written in calls, read where the signal is sent: a race is a failure

  void before() {
    has_core.store(1, std::memory_order_relaxed);
    sent.store(0, std::memory_order_relaxed);
  }

  // Between two instructions: a signal that was sent arrives.
  bool pause() {
    if (sent.exchange(0, std::memory_order_acq_rel)) nudge.arrived();
    World::relax(0);
    return true;
  }
  void waits_without_core(int what = 1) {
    unsigned had = 1;
    has_core.compare_exchange_strong(had, 0, std::memory_order_acq_rel, std::memory_order_relaxed);
    nudge.let_pass([this] { return pause(); });
    call($) = what;
    has_core.store(1, std::memory_order_release);
  }
  void calls_undisturbed() {
    RL_ASSERT(nudge.refuse([this] { return pause(); }));
    // In a handler that interrupts the call: another one, a wait, a jump out of both.
    RL_ASSERT(!nudge.refuse([this] { return pause(); }));
    if (rl::rand(2)) waits_without_core(3);
    if (rl::rand(2)) nudge.accept();
    if (!nudge.is_refused()) return;
    call($) = 2;
    nudge.accept();
  }
  void thread(unsigned index) {
    if (index > 0) {
      nudge.ask([this] { return has_core.load(std::memory_order_seq_cst) == 1; },
                [this] {
                  static_cast<void>(static_cast<int>(call($)));
                  sent.store(1, std::memory_order_release);
                  return true;
                });
      return;
    }
    for (int round = 0; round < 2; ++round) {
      if (rl::rand(2)) {
        waits_without_core();
      } else {
        calls_undisturbed();
      }
    }
  }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<SignalsBesideCalls>("two askers beside calls:", 300000);
  // [nudge-1], fences on both sides, and [nudge-2], a release for the fence of the next who asks.
  for (const char* function : {"ask", "let_pass"}) {
    check.fails_without<SignalsBesideCalls>({Take::fence, "segment/nudge_word.h", function},
                                            rl::test_result_data_race, 300000);
  }
  check.fails_without<SignalsBesideCalls>({Take::orderings, "segment/nudge_word.h", "accept"},
                                          rl::test_result_data_race, 300000);
  return check.result();
}
