// Models of the end of a keeper: one that wants to end, and threads that come to need one.
#include "sched/keeper_here.h"

#include "check.h"

namespace roost::model {
namespace {

// Whoever needs a keeper has one in the end: the old one, or just one new one.
struct EndBesideNeed : rl::test_suite<EndBesideNeed, 3> {
  KeeperHere<World> here;
  World::atomic<unsigned> needs;
  World::atomic<unsigned> keepers;

  void before() {
    needs.store(0, std::memory_order_relaxed);
    keepers.store(1, std::memory_order_relaxed);
    here.is_to_start();
  }
  void thread(unsigned index) {
    if (index == 0) {
      bool ends = here.ends([this] { return needs.load(std::memory_order_relaxed) != 0; });
      if (ends) keepers.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    needs.fetch_add(1, std::memory_order_relaxed);
    if (here.is_to_start()) keepers.fetch_add(1, std::memory_order_relaxed);
  }
  void after() {
    RL_ASSERT(keepers.load(std::memory_order_relaxed) == 1);
    RL_ASSERT(here.is_started());
  }
};

// A leader that wants to end, and threads of other processes that come to be at large: whoever is
// at large is watched, by the leader or by a keeper of his own.
struct EndOfLeader : rl::test_suite<EndOfLeader, 3> {
  static constexpr std::uint32_t kLeader = 7;
  World::atomic<std::uint32_t> word;
  World::atomic<unsigned> at_large;
  World::atomic<unsigned> keepers;
  bool ended = false;

  void before() {
    word.store(kLeader, std::memory_order_relaxed);
    at_large.store(0, std::memory_order_relaxed);
    keepers.store(0, std::memory_order_relaxed);
  }
  void thread(unsigned index) {
    LedBy<World> led_by(word);
    if (index == 0) {
      ended =
          led_by.ends(kLeader, [this] { return at_large.load(std::memory_order_relaxed) != 0; });
      return;
    }
    at_large.fetch_add(1, std::memory_order_relaxed);
    if (!led_by.is_watched()) keepers.fetch_add(1, std::memory_order_relaxed);
  }
  void after() {
    RL_ASSERT(!ended || keepers.load(std::memory_order_relaxed) == 2);
    RL_ASSERT(LedBy<World>(word).is(ended ? 0 : kLeader));
  }
};

// A keeper that leads and wants to end, while the only thread of its process comes to be at large,
// and one of another process: each is watched by it, or by a keeper that was started.
struct EndOfBoth : rl::test_suite<EndOfBoth, 3> {
  static constexpr std::uint32_t kName = 7;
  KeeperHere<World> here;
  World::atomic<std::uint32_t> word;
  World::atomic<unsigned> at_large;
  World::atomic<unsigned> started;  // of the same process, or of the other
  bool ended = false;

  void before() {
    word.store(kName, std::memory_order_relaxed);
    at_large.store(0, std::memory_order_relaxed);
    started.store(0, std::memory_order_relaxed);
    here.is_to_start();
  }
  void thread(unsigned index) {
    LedBy<World> led_by(word);
    if (index == 0) {
      auto serves = [this] { return at_large.load(std::memory_order_relaxed) != 0; };
      ended = keeper_ends(
          here, led_by, kName, [] { return true; }, serves);
      return;
    }
    at_large.fetch_add(1, std::memory_order_relaxed);
    if (led_by.is_watched()) return;
    if (index == 2 || here.is_to_start()) started.fetch_add(1, std::memory_order_relaxed);
  }
  void after() {
    if (ended) {
      RL_ASSERT(started.load(std::memory_order_relaxed) > 0);
    } else {
      RL_ASSERT(LedBy<World>(word).is(kName));
      RL_ASSERT(here.is_started());
    }
  }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<EndBesideNeed>("a keeper ends beside threads that need it:", 100000);
  for (const char* function : {"is_to_start", "ends"}) {
    check.fails_without<EndBesideNeed>({Take::fence, "sched/keeper_here.h", function},
                                       rl::test_result_user_assert_failed, 100000);
  }
  check.holds<EndOfLeader>("a leader ends beside threads that come to be at large:", 100000);
  for (const char* function : {"is_watched", "ends"}) {
    check.fails_without<EndOfLeader>({Take::fence, "sched/keeper_here.h", function},
                                     rl::test_result_user_assert_failed, 100000);
  }
  check.holds<EndOfBoth>("a keeper that leads ends beside both:", 100000);
  return check.result();
}
