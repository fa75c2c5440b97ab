// What long proofs may cost a thread that only computes, and that they come to an end all the same.
#include "spin/proof_budget.h"

#include <gtest/gtest.h>

namespace roost::spin {
namespace {

constexpr Nanoseconds kQuantum = 4'000'000;

Nanoseconds cpu_time = 0;
Nanoseconds read_cpu_time() { return cpu_time; }

// A thread that is asked after each quantum of its CPU time.
class ProofBudgets : public testing::Test {
 protected:
  void SetUp() override { cpu_time = kQuantum; }

  // Proves, or ends by itself, after so many steps; whether it came so far.
  bool ask(unsigned steps, Nanoseconds step, bool finds) {
    constexpr unsigned kBetweenLooks = 256;
    ProofLimit limit{};
    cpu_time += kQuantum;
    if (!budget_.begin(read_cpu_time, limit)) return false;
    Nanoseconds began = cpu_time;
    unsigned done = 0;
    while (done < steps && !limit.ran_out) {
      cpu_time += kBetweenLooks * step;
      done += kBetweenLooks;
      if (done >= limit.steps) limit.ran_out = true;
      limit.time_is_over();
    }
    spent_ += cpu_time - began;
    longest_ = std::max(longest_, cpu_time - began);
    bool through = done >= steps;
    budget_.end(limit, through && finds);
    return through;
  }

  ProofBudget budget_;
  Nanoseconds spent_ = 0, longest_ = 0;
};

TEST_F(ProofBudgets, proofs_take_a_fiftieth_of_the_time_whatever_a_step_costs) {
  constexpr unsigned kRuns = 10'000;
  for (Nanoseconds step : {5, 20, 100, 1000, 20'000}) {
    budget_ = {};
    spent_ = longest_ = 0;
    // Some end early, most would go on for ever.
    for (unsigned i = 0; i < kRuns; ++i) ask(i % 3 == 0 ? 512 : ~0u, step, false);
    Nanoseconds one_look = 256 * step, computed = kRuns * kQuantum;
    EXPECT_LE(spent_, computed / 49 + 5'000'000 + 2 * one_look) << step << " ns a step";
    EXPECT_LE(longest_, 20'000'000 + one_look) << step << " ns a step";
  }
}

TEST_F(ProofBudgets, a_thread_that_waits_is_asked_each_time) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(ask(10'000, 100, true)) << i;
}

TEST_F(ProofBudgets, a_long_round_is_proved_at_last) {
  for (unsigned steps : {2'000u, 20'000u, 60'000u}) {
    for (Nanoseconds step : {20u, 100u, 300u}) {
      budget_ = {};
      for (int i = 0; i < 50; ++i) ask(~0u, step, false);  // it has computed for long
      int asked = 1;
      while (asked < 1000 && !ask(steps, step, true)) ++asked;
      EXPECT_LT(asked, 600) << steps << " steps of " << step << " ns";
    }
  }
}

TEST_F(ProofBudgets, short_rounds_are_proved_soon_by_who_has_computed) {
  for (int i = 0; i < 50; ++i) ask(~0u, 20, false);
  int asked = 1;
  while (!ask(1'000, 20, true)) ++asked;
  EXPECT_LE(asked, 2);
}

TEST_F(ProofBudgets, begin_anew_in_the_child_of_a_fork) {
  for (int i = 0; i < 50; ++i) ask(~0u, 1000, false);
  cpu_time = 1000;  // its clock begins at nothing
  spent_ = 0;
  EXPECT_TRUE(ask(2'000, 100, true));
  EXPECT_LE(spent_, 1'000'000u);
}

}  // namespace
}  // namespace roost::spin
