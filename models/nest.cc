// Model of NEST's claim flag (section 3.4 of the paper): placements at once never meet on a core,
// and none is forgotten, whatever happens to the nests meanwhile. The policy is the real header.
#include "policy/nest.h"

#include "check.h"
#include "ledger_world.h"

namespace roost::model {
namespace {

// A core's nest to begin with, any.
void put_any_nest(Instance& i) {
  for (CoreSlot<World>& core : i.cores) {
    core.policy_shared.store(nest::word_of(static_cast<nest::Nest>(rl::rand(3)), 0),
                             std::memory_order_relaxed);
  }
}

// Two threads are woken at once, with the same last core, while another leaves a core.
template <const Policy& policy>
struct TwoPlacements : rl::test_suite<TwoPlacements<policy>, 3> {
  Instance i{policy};
  void before() {
    put_any_nest(i);
    if (rl::rand(2)) i.start_running(2, 1);
    auto last = static_cast<CoreIndex>(rl::rand(2));
    i.threads[0].last_core = i.threads[1].last_core = last;
    if (rl::rand(2)) i.threads[0].policy_words[nest::core_before] = last + 1u;  // attached
  }
  void invariant() { i.invariant(); }
  void thread(unsigned index) {
    if (index < 2) {
      i.wake(index);
    } else if (i.running(2)) {
      rl::rand(2) ? i.block(2) : i.end(2);
    }
  }
  void after() { i.check(); }
};

// A policy that takes what it saw to be idle, as NEST would without the flag: the ledger does not
// rest on what policies claim.
CoreIndex place_unclaimed(const PolicyContext& context, CoreIndex, std::uint64_t*,
                          CoreView& cores) {
  return cores.next_idle(0, context.n_cores);
}
constexpr Policy without_the_flag() {
  Policy policy = kNest;
  policy.place = place_unclaimed;
  return policy;
}
constexpr Policy kWithoutTheFlag = without_the_flag();

// Three threads come and go on two cores: placed, moved between nests, demoted.
struct Lives : rl::test_suite<Lives, 3> {
  Instance i{kNest};
  void before() {
    put_any_nest(i);
    i.start_running(0, 0);
    i.start_running(1, 1);
  }
  void invariant() { i.invariant(); }
  void thread(unsigned index) {
    if (index == 2) {
      i.wake(2);
      i.wake(rl::rand(2));
      return;
    }
    i.wake(3);
    rl::rand(2) ? i.block(index) : i.end(index);
  }
  void after() { i.check(); }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<TwoPlacements<roost::kNest>>("two placements and a core that is left:", 300000);
  check.holds<Lives>("threads that come and go:", 300000);
  check.holds<TwoPlacements<kWithoutTheFlag>>("two placements without the claim flag:", 300000);
  return check.result();
}
