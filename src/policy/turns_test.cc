// Whose turn it is on one core, as the threads of a few processes run there one after the other.
#include "policy/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "policy/coop.h"

namespace roost {
namespace {

constexpr Nanoseconds kUs = 1000, kMs = 1'000'000;
constexpr ProcessIndex kBusy = 5, kOther = 6, kIo = 7, kMoreIo = 8, kMostIo = 9;

// One core, on which the process that has it runs for a while and then gives it up.
class Core {
 public:
  explicit Core(Nanoseconds quantum = 20 * kMs, Nanoseconds brief = kMs)
      : parameters_{quantum, 0, 0, brief} {}

  Nanoseconds now() const { return context_.now; }
  ProcessIndex serving() const { return serving_; }

  // Processes that have READY threads.
  std::set<ProcessIndex> ready;

  // Who has the core runs for so long, and leaves it; it stays READY if it yields. To whom the core
  // goes then; kNoProcess if it is idle.
  ProcessIndex run(Nanoseconds how_long, bool yields) {
    context_.now += how_long;
    if (yields) ready.insert(serving_);
    std::uint64_t bits[kProcessWords] = {};
    for (ProcessIndex p : ready) bits[p / 64] |= 1ull << (p % 64);
    Fifo fifos[kMaxProcesses] = {};
    QueueView view(bits, fifos, kMaxProcesses);
    if (ready.empty()) {
      Turns(context_, words_).idle();
      return serving_ = kNoProcess;
    }
    return grant(Turns(context_, words_).next(view));
  }
  // Of an idle core, or one that nobody has had yet.
  ProcessIndex grant(ProcessIndex next) {
    ready.erase(next);
    Turns(context_, words_).granted(next);
    return serving_ = next;
  }
  void pass(Nanoseconds how_long) { context_.now += how_long; }

  // It has a turn that is long.
  void make_heavy(ProcessIndex process) {
    grant(process);
    run(5 * kMs, false);
  }

 private:
  std::uint64_t parameters_[4];
  PolicyContext context_{1000 * kMs, parameters_, nullptr, 1, nullptr};
  std::uint64_t words_[5] = {};
  ProcessIndex serving_ = kNoProcess;
};

TEST(Turns, parameters_lie_where_they_are_looked_for) {
  EXPECT_EQ(find_parameter(kCoop, "quantum"), static_cast<int>(Turns::kQuantum));
  EXPECT_EQ(find_parameter(kCoop, "brief"), static_cast<int>(Turns::kBrief));
}

TEST(Turns, a_brief_process_has_an_interlude_once_the_other_has_gone_on_for_as_long) {
  Core core;
  core.grant(kBusy);
  core.ready = {kBusy, kIo};
  EXPECT_EQ(core.run(400 * kUs, true), kBusy);
  EXPECT_EQ(core.run(400 * kUs, true), kBusy);
  EXPECT_EQ(core.run(400 * kUs, true), kIo);
  EXPECT_EQ(core.run(30 * kUs, false), kBusy);
  core.ready.insert(kIo);
  EXPECT_EQ(core.run(600 * kUs, true), kBusy);
  EXPECT_EQ(core.run(600 * kUs, true), kIo);
}

TEST(Turns, those_that_wake_each_other_share_an_interlude) {
  Core core;
  core.grant(kBusy);
  core.ready = {kIo};
  EXPECT_EQ(core.run(2 * kMs, true), kIo);
  core.ready.insert(kMoreIo);
  EXPECT_EQ(core.run(100 * kUs, false), kMoreIo);
  core.ready.insert(kIo);
  EXPECT_EQ(core.run(100 * kUs, false), kIo);
  core.ready.insert(kMoreIo);
  EXPECT_EQ(core.run(900 * kUs, false), kBusy) << "the interlude is over";
}

TEST(Turns, the_next_interlude_begins_with_another_process) {
  Core core;
  core.grant(kBusy);
  core.ready = {kIo, kMoreIo, kMostIo};
  EXPECT_EQ(core.run(2 * kMs, true), kIo);
  EXPECT_EQ(core.run(600 * kUs, true), kMoreIo);
  EXPECT_EQ(core.run(600 * kUs, true), kBusy);
  EXPECT_EQ(core.run(2 * kMs, true), kMostIo);
}

TEST(Turns, the_turn_goes_on_with_the_rest_of_its_quantum) {
  Core core;
  core.make_heavy(kOther);
  core.grant(kBusy);
  core.ready = {kOther, kIo};
  EXPECT_EQ(core.run(12 * kMs, true), kIo);
  EXPECT_EQ(core.run(500 * kUs, false), kBusy);
  EXPECT_EQ(core.run(7 * kMs, true), kBusy);
  EXPECT_EQ(core.run(kMs, true), kOther);
}

TEST(Turns, who_has_had_the_core_for_long_waits_for_the_quantum_of_the_others) {
  Core core;
  core.make_heavy(kIo);
  core.grant(kBusy);
  core.ready = {kIo};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(core.run(2 * kMs, true), kBusy);
  EXPECT_EQ(core.run(2 * kMs, true), kIo);
}

TEST(Turns, brief_turns_make_it_brief_again) {
  Core core;
  core.make_heavy(kIo);
  unsigned turns = 0;
  for (ProcessIndex next = kNoProcess; next != kIo && turns < 1000; ++turns) {
    core.pass(3217 * kUs);  // idle
    core.grant(kIo);
    core.run(10 * kUs, false);
    core.grant(kBusy);
    core.ready = {kIo};
    next = core.run(2 * kMs, true);
    core.ready.clear();
    core.run(kUs, false);
  }
  EXPECT_GT(turns, 1u);
  EXPECT_LT(turns, 100u);
}

TEST(Turns, idle_time_does_not_count) {
  Core core;
  core.grant(kIo);
  EXPECT_EQ(core.run(10 * kUs, false), kNoProcess);
  core.pass(50 * kMs);
  core.grant(kBusy);
  core.ready = {kIo};
  EXPECT_EQ(core.run(2 * kMs, true), kIo);
}

TEST(Turns, who_comes_back_to_an_idle_core_goes_on_for_as_long_as_others) {
  Core core(200 * kMs);
  core.grant(kBusy);
  EXPECT_EQ(core.run(10 * kUs, false), kNoProcess);
  core.pass(50 * kMs);
  core.grant(kBusy);
  core.ready = {kIo};
  EXPECT_EQ(core.run(400 * kUs, true), kBusy);
  EXPECT_EQ(core.run(800 * kUs, true), kIo);
}

TEST(Turns, the_end_of_a_turn_with_an_interlude_is_not_a_brief_turn) {
  Core core;
  for (int i = 0; i < 300; ++i) {
    core.grant(kBusy);
    core.ready = {kIo};
    EXPECT_EQ(core.run(2 * kMs + static_cast<Nanoseconds>(i), true), kIo);
    EXPECT_EQ(core.run(10 * kUs, false), kBusy);
    core.ready = {kOther};
    EXPECT_EQ(core.run(10 * kUs, false), kOther);
    core.ready = {kBusy};
    EXPECT_EQ(core.run(2 * kMs, true), kOther);
    core.ready.clear();
    core.run(kMs, false);
  }
}

TEST(Turns, where_brief_is_nothing_the_quantum_is_all) {
  Core core(20 * kMs, 0);
  core.grant(kBusy);
  core.ready = {kIo};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(core.run(2 * kMs, true), kBusy);
  EXPECT_EQ(core.run(2 * kMs, true), kIo);
}

// Whatever the others do, the one whose turn it is has half of the time but for one interlude, and
// goes on for as long as the one before took.
TEST(Turns, the_owner_of_a_turn_has_half_of_it) {
  constexpr Nanoseconds kQuantum = 20 * kMs, kBrief = kMs, kLongest = 6 * kMs;
  std::uint64_t state = 12345;
  auto dice = [&](std::uint64_t n) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % n;
  };
  for (int trial = 0; trial < 300; ++trial) {
    Core core(kQuantum, kBrief);
    unsigned n_io = 1 + static_cast<unsigned>(dice(4));
    core.grant(kBusy);
    Nanoseconds own = 0, others = 0, last_interlude = 0, since = 0, longest_away = 0, away = 0;
    for (int step = 0; step < 2000; ++step) {
      for (unsigned i = 0; i < n_io; ++i)
        if (dice(2)) core.ready.insert(static_cast<ProcessIndex>(kIo + i));
      ProcessIndex current = core.serving();
      core.ready.erase(current);
      bool busy = current == kBusy;
      Nanoseconds run = busy || dice(20) == 0 ? dice(kLongest) : dice(kBrief);
      (busy ? own : others) += run;
      ProcessIndex next = core.run(run, busy || dice(2));
      if (busy) {
        since += run;
        if (next != kBusy && own < kQuantum) {
          EXPECT_GE(since, std::max(kBrief, last_interlude)) << "trial " << trial;
        }
        away = 0;
      } else {
        away += run;
        longest_away = std::max(longest_away, away);
      }
      if (next == kBusy && !busy) {
        last_interlude = away;
        since = 0;
      }
      if (own >= kQuantum && next != kBusy) {
        EXPECT_LE(others, own + kBrief + kLongest) << "trial " << trial;
        break;
      }
    }
    EXPECT_LE(longest_away, kBrief + kLongest) << "trial " << trial;
  }
}

}  // namespace
}  // namespace roost
