// A process is killed at every step of every operation of the ledger; the others lose nothing.
//
// A survivor does what the keeper does.
#include "sched/interrupted_test.h"

namespace roost {
namespace {

struct Killed {};

struct DeathScene : Scene {
  using Scene::Scene;

  void recover() {
    acting_as = party_of_process(kLiving);
    for (int look = 0; look < 2; ++look) {
      ledger.purge(kInterrupted, [](ThreadIndex) {});
      ledger.take_back_cores(is_interrupted);
      ledger.finish_for(is_interrupted);
    }
    for (ThreadIndex i = 0; i < 5; ++i) change_state(threads[i], State::free);
  }
};

TEST(LedgerDeath, at_any_step_the_others_lose_nothing) {
  at_last_step = [] { throw Killed{}; };
  at_every_step([](Load load, const Operation& tried, int steps) {
    DeathScene scene(load);
    acting_as = party_of_thread(0);
    steps_left = steps;
    bool died = false;
    try {
      tried.perform(scene);
    } catch (Killed) {
      died = true;
    }
    steps_left = -1;
    scene.recover();
    EXPECT_EQ(scene.all_run(), "");
    return !died;
  });
}

TEST(LedgerDeath, who_wakes_after_the_grant_is_replaced) {
  // The last step of a grant is the word; the wake-up after it is the kernel's.
  DeathScene scene(Load::core_free);
  acting_as = party_of_thread(0);
  scene.wake(9);
  ASSERT_EQ(scene.state(9), State::running);
  scene.os.woken.clear();
  scene.recover();
  EXPECT_TRUE(std::count(scene.os.woken.begin(), scene.os.woken.end(), &scene.threads[9]));
}

TEST(LedgerDeath, a_lock_is_taken_from_the_dead) {
  DeathScene scene(Load::threads_wait);
  scene.cores[0].lock.holder.store(party_of_thread(0));
  EXPECT_EQ(scene.queue(0).size(), scene.cores[0].ready.load());
  EXPECT_EQ(scene.cores[0].lock.holder.load(), kNobody);
}

}  // namespace
}  // namespace roost
