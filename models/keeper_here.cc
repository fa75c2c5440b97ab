// Model of the end of a keeper: one that wants to end, and two threads that come to need one.
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
  return check.result();
}
