// Model of the deque of OpenMP tasks: each item is taken once, by somebody who sees what its owner
// wrote.
#include "check.h"
#include "omp/deque.h"

namespace roost::model {
namespace {

struct Item {
  rl::var<int> content{0};
  rl::var<int> taken{0};
};

// An owner and thieves; the ring is so small that slots are used again.
template <int kThieves>
struct DequeModel : rl::test_suite<DequeModel<kThieves>, kThieves + 1> {
  static constexpr int kItems = 4;
  omp::Deque<World, Item, 2> deque;
  Item items[kItems];

  void take(Item& item) {
    RL_ASSERT(item.content($) == 7);
    item.taken($) += 1;
  }

  void thread(unsigned index) {
    if (index != 0) {
      for (int tries = 0; tries < 2; ++tries)
        if (Item* item = deque.steal([](Item&) { return true; })) take(*item);
      return;
    }
    for (int i = 0; i < kItems; ++i) {
      items[i].content($) = 7;
      // As queue_task() does: what finds no room is done at once.
      bool room = !deque.full();
      bool queued = deque.push(&items[i]);
      RL_ASSERT(queued || !room);
      if (!queued) take(items[i]);
      if (rl::rand(2)) {
        Item* newest = deque.newest();
        Item* item = deque.pop();
        RL_ASSERT(!item || item == newest);
        if (item) take(*item);
      }
    }
  }
  void after() {
    while (Item* item = deque.pop()) take(*item);
    RL_ASSERT(deque.empty());
    for (Item& item : items) RL_ASSERT(item.taken($) == 1);
  }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<DequeModel<1>>("an owner and a thief:", 400000);
  check.holds<DequeModel<2>>("an owner and two thieves:", 400000);
  const char* deque = "omp/deque.h";
  // [deque-3]: both take the last item, and count it at once.
  check.fails_without<DequeModel<1>>({Take::fence, deque, "pop"}, rl::test_result_data_race,
                                     400000);
  // Then a thief of two may take for old what the owner has put there anew.
  check.fails_without<DequeModel<1>>({Take::fence, deque, "steal"}, rl::test_result_data_race,
                                     400000);
  // [deque-2]. Not [deque-1]: the checker never moves a thread's load behind its later store.
  check.fails_without<DequeModel<1>>({Take::orderings, deque, "push"},
                                     rl::test_result_user_assert_failed, 400000);
  return check.result();
}
