// Each promise is seen to be broken: by a scheduler with a bug planted in it, or by telling the
// checker what a broken engine would.
#include "sim/checker.h"

#include <gtest/gtest.h>

#include <deque>

#include "sim/event_queue.h"
#include "sim/sim_test.h"
#include "sim/world.h"

namespace roost::sim {
namespace {

// First come, first served on all cores; `bug` says what it does wrong.
class BuggyScheduler : public Scheduler {
 public:
  enum Bug { none, loses_a_thread, starves, leaves_a_core_idle, overfills };
  explicit BuggyScheduler(Bug bug) : bug_(bug) {}
  std::string name() const override { return "buggy"; }
  void attach(World& world) override { world_ = &world; }
  void starts(ThreadIndex thread, ThreadIndex) override { add(thread); }
  void wakes(ThreadIndex thread, ThreadIndex) override { add(thread); }
  void blocks(ThreadIndex thread) override { leave(thread); }
  void enters_kernel(ThreadIndex thread) override { leave(thread); }
  void leaves_kernel(ThreadIndex thread) override { add(thread); }
  bool yields(ThreadIndex thread, bool) override {
    if (ready_.empty()) return false;
    CoreIndex core = world_->core_of(thread);
    world_->take_off(core);
    if (bug_ == starves) {  // always the latest: those before never run
      ThreadIndex latest = ready_.back();
      ready_.back() = thread;
      world_->dispatch(core, latest, 0);
      return true;
    }
    ready_.push_back(thread);
    next(core);
    return true;
  }
  void ends(ThreadIndex thread) override { leave(thread); }
  void timer(std::uint32_t, std::uint32_t, std::uint64_t) override {}
  bool is_work_conserving() const override { return true; }

 private:
  void add(ThreadIndex thread) {
    if (bug_ == loses_a_thread && ++added_ == 5) return;
    if (bug_ == overfills && ++added_ == 2) world_->dispatch(0, thread, 0);
    ready_.push_back(thread);
    for (CoreIndex core = 0; core < world_->n_cores(); ++core) {
      if (bug_ == leaves_a_core_idle && core == 1) continue;
      if (!world_->in_use(core)) return next(core);
    }
  }
  void leave(ThreadIndex thread) {
    CoreIndex core = world_->core_of(thread);
    world_->take_off(core);
    next(core);
  }
  void next(CoreIndex core) {
    if (ready_.empty()) return;
    ThreadIndex thread = ready_.front();
    ready_.pop_front();
    world_->dispatch(core, thread, 0);
  }

  Bug bug_;
  World* world_ = nullptr;
  std::deque<ThreadIndex> ready_;
  int added_ = 0;
};

// What the checker says about such a scheduler; "" if nothing.
std::string verdict(BuggyScheduler::Bug bug, Promises promises = {}) {
  Machine machine = round_machine(2);
  Program yielding = program_of({{"main", {"repeat 200", "compute 100k", "yield", "again"}, 6}});
  Program waiting =
      program_of({{"main", {"repeat 50", "compute 100k", "yield", "wait s", "again"}, 6},
                  {"other", {"repeat 300", "compute 10k", "signal s", "sleep 1us", "again"}, 1}});
  const Program& program = bug == BuggyScheduler::starves ? yielding : waiting;
  BuggyScheduler scheduler(bug);
  World world(machine, program, Governor::schedutil, scheduler);
  Checker checker(2, promises, &scheduler);
  world.watch(checker);
  try {
    World::Outcome outcome = world.run(10'000'000'000);
    checker.finish(outcome == World::Outcome::stuck);
  } catch (const Violation& violation) {
    return violation.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Checker, a_sound_scheduler_passes) {
  Promises all{true, 1'000'000'000, 1'000'000};
  EXPECT_EQ(verdict(BuggyScheduler::none, all), "");
}

TEST(Checker, a_lost_thread_is_missed) {
  EXPECT_TRUE(says(verdict(BuggyScheduler::loses_a_thread), "was lost"));
}

TEST(Checker, a_starving_thread_is_found) {
  Promises bounded;
  bounded.longest_wait = 3'000'000;
  EXPECT_TRUE(says(verdict(BuggyScheduler::starves, bounded), "longer than 3000000"));
}

TEST(Checker, an_idle_core_is_found) {
  Promises conserving;
  conserving.work_conserving = true;
  std::string text = verdict(BuggyScheduler::leaves_a_core_idle, conserving);
  EXPECT_TRUE(says(text, "1 of 2 cores are idle while"));
  EXPECT_TRUE(says(text, "the last events:"));
}

#ifdef NDEBUG  // the world has an assertion of its own
TEST(Checker, two_threads_on_a_core_are_found) {
  EXPECT_TRUE(says(verdict(BuggyScheduler::overfills), "core 0 runs threads 0 and 1"));
}
#endif

// What a broken engine would tell.
class Told : public testing::Test {
 protected:
  template <class Tell>
  std::string after(Tell&& tell) {
    try {
      tell(checker);
    } catch (const Violation& violation) {
      return violation.what();
    }
    return "";
  }
  Checker checker{2, {false, 0, 1'000'000}};
};

TEST_F(Told, time_that_runs_back) {
  EXPECT_TRUE(says(after([](Checker& c) {
                     c.time(10);
                     c.time(9);
                   }),
                   "time ran back from 10 to 9"));
}

TEST_F(Told, a_thread_on_two_cores) {
  EXPECT_TRUE(says(after([](Checker& c) {
                     c.started(7, 0);
                     c.ready(7);
                     c.dispatched(0, 7);
                     c.dispatched(1, 7);
                   }),
                   "thread 7 runs on cores 0 and 1"));
}

TEST_F(Told, waiters_served_out_of_turn) {
  EXPECT_TRUE(says(after([](Checker& c) {
                     c.queued({ObjectKind::semaphore, 3}, 1);
                     c.queued({ObjectKind::semaphore, 3}, 2);
                     c.served({ObjectKind::semaphore, 3}, 2);
                   }),
                   "thread 2 is served out of turn at object r3"));
}

TEST_F(Told, work_that_was_not_done) {
  EXPECT_TRUE(says(after([](Checker& c) {
                     c.started(1, 0);
                     c.ready(1);
                     c.dispatched(0, 1);
                     c.time(100);
                     c.executed(1, 99);
                     c.computed(1, 100);
                   }),
                   "was to execute 100 millionths of a cycle and executed 99"));
}

TEST_F(Told, work_faster_than_a_core) {
  EXPECT_TRUE(says(after([](Checker& c) {
                     c.started(1, 0);
                     c.ready(1);
                     c.dispatched(0, 1);
                     c.time(100);
                     c.executed(1, 100'000'001);
                   }),
                   "in 100 ns"));
}

TEST(EventQueue, events_come_by_time_and_then_in_the_order_of_their_making) {
  EventQueue queue;
  Random random(1);
  for (std::uint32_t i = 0; i < 5000; ++i) queue.push(random.below(100), 0, i);
  Event last = queue.take();
  while (!queue.empty()) {
    Event next = queue.take();
    ASSERT_TRUE(last.at < next.at || (last.at == next.at && last.who < next.who));
    last = next;
  }
}

TEST(Random, numbers_are_these_on_every_machine) {
  Random random(42);
  EXPECT_EQ(random.next(), 13679457532755275413u);
  EXPECT_EQ(Random(7).exponential(1'000'000), 942'045u);
  std::uint64_t sum = 0;
  for (int i = 0; i < 100'000; ++i) sum += random.exponential(1000);
  EXPECT_NEAR(static_cast<double>(sum) / 100'000, 1000, 10);
}

}  // namespace
}  // namespace roost::sim
