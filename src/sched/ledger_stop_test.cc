// A process is stopped at every step of every operation of the ledger, and goes on later: meanwhile
// the others lose nothing, and nothing is broken by what it still believes to have.
#include <semaphore>
#include <thread>

#include "sched/interrupted_test.h"
#include "sched/overtaking.h"

namespace roost {
namespace {

std::binary_semaphore stopped(0), go_on(0);

struct StopScene : Scene {
  explicit StopScene(Load load) : Scene(load) { may_be_overtaken = true; }

  // A leader of the living process looks, for a while.
  void look() {
    acting_as = party_of_process(kLiving, 77);
    for (int tick = 0; tick < 40; ++tick) {
      os.clock += 4 * kMillisecond;
      overtaking.look(ledger, os.clock, [](ThreadIndex) { return ~0ull; });
    }
  }
  // The watchdog takes the core from a thread that is stopped; the others run and block.
  void runs(CoreIndex core, ThreadIndex thread) override {
    if (thread >= 5) return Scene::runs(core, thread);
    acting_as = party_of_process(kLiving, 77);
    ledger.rescue(core, thread);
  }
  // The process goes on: what was taken from its threads they ask for again, and run to their end.
  std::string all_end() {
    for (int turn = 0; turn < 3; ++turn) {
      for (ThreadIndex i = 0; i < 5; ++i) {
        if (state(i) != State::external) continue;
        acting_as = party_of_thread(i);
        from_kernel(i);
      }
      for (CoreIndex core = 0; core < machine.n_cores(); ++core) {
        if (std::string problem = broken(); !problem.empty()) return problem;
        if (owner(core) != kNoThread) Scene::runs(core, owner(core));
      }
    }
    for (ThreadIndex i = 0; i < kPlaced; ++i)
      if (state(i) != State::blocked) return "thread " + std::to_string(i) + " has not ended";
    return "";
  }

  Overtaking overtaking{};
};

// Performs the operation in a thread that is stopped before that step, unless it ends before it.
class Stopped {
 public:
  Stopped(StopScene& scene, const Operation& tried, int steps)
      : thread_([this, &scene, &tried, steps] {
          acting_as = party_of_thread(0);
          steps_left = steps;
          tried.perform(scene);
          ended_ = steps_left >= 0;
          steps_left = -1;
          if (ended_) stopped.release();
        }) {
    stopped.acquire();
  }
  bool ended() const { return ended_; }
  void go_on_to_the_end() {
    if (!ended_) go_on.release();
    thread_.join();
  }

 private:
  bool ended_ = false;
  std::thread thread_;
};

TEST(LedgerStop, at_any_step_the_others_lose_nothing_and_it_goes_on) {
  at_last_step = [] {
    steps_left = -1;
    stopped.release();
    go_on.acquire();
  };
  at_every_step([](Load load, const Operation& tried, int steps) {
    StopScene scene(load);
    Stopped process(scene, tried, steps);
    bool ended = process.ended();
    scene.look();
    std::string meanwhile = scene.all_run();
    process.go_on_to_the_end();
    EXPECT_EQ(meanwhile, "");
    scene.look();
    EXPECT_EQ(scene.all_end(), "");
    return ended;
  });
}

TEST(LedgerStop, whose_granter_did_not_wake_him_is_woken_once) {
  StopScene scene(Load::core_free);
  acting_as = party_of_thread(0);
  scene.wake(9);
  scene.os.woken.clear();
  scene.look();
  EXPECT_EQ(std::count(scene.os.woken.begin(), scene.os.woken.end(), &scene.threads[9]), 1);
}

// Nobody looks for ever for a thread that is counted and not there.
TEST(LedgerStop, an_empty_queue_that_is_counted_is_found_to_be_empty) {
  StopScene scene(Load::cores_busy);
  scene.cores[0].ready.store(1);
  set_bit(scene.queued_mask, 0);
  scene.Scene::runs(0, scene.owner(0));
  EXPECT_EQ(scene.owner(0), kNoThread);
  EXPECT_EQ(scene.broken(), "");
}

// Queues in which somebody overtaken has written are made anew, without him.
TEST(LedgerStop, threads_in_queues_that_are_wrong_are_found) {
  using Wreck = void (*)(StopScene&, CoreIndex);
  constexpr Wreck kWrecks[] = {
      [](StopScene& scene, CoreIndex core) {
        for (unsigned p = 0; p < scene.n_processes; ++p)
          scene.fifos[core * scene.n_processes + p] = {kNoThread, kNoThread, 0};
        scene.cores[core].ready.store(0);
      },
      [](StopScene& scene, CoreIndex core) {
        scene.cores[core].ready.store(0);
        clear_bit(scene.queued_mask, core);
      },
      [](StopScene& scene, CoreIndex core) {
        for (std::uint64_t& word : scene.cores[core].ready_processes) word = 0;
      }};
  for (Wreck wreck : kWrecks) {
    StopScene scene(Load::threads_wait);
    CoreIndex core = queue_of(scene.threads[7].state.load());
    ASSERT_NE(core, kNoCore);
    wreck(scene, core);
    scene.look();
    EXPECT_EQ(scene.all_run(), "");
  }
}

}  // namespace
}  // namespace roost
