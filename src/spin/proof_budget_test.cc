// What long proofs may cost a thread that only computes.
#include "spin/proof_budget.h"

#include <gtest/gtest.h>

namespace roost::spin {
namespace {

constexpr Nanoseconds kQuantum = 4'000'000;

// CPU time of proofs that take so long a step and find nothing, in `runs` quanta of computing.
Nanoseconds cost_of_asking(Nanoseconds step, unsigned runs) {
  ProofBudget budget;
  Nanoseconds now = kQuantum, spent = 0;
  for (unsigned i = 0; i < runs; ++i) {
    now += kQuantum;
    unsigned steps = budget.begin(now);
    if (steps == 0) continue;
    now += steps * step;
    if (i > 0) spent += steps * step;  // what the first may cost is not known
    budget.end(now, false);
  }
  return spent;
}

TEST(ProofBudget, proofs_take_a_fiftieth_of_the_time_whatever_a_step_costs) {
  constexpr unsigned kRuns = 10'000;
  for (Nanoseconds step : {5, 20, 100, 1000, 20'000})
    EXPECT_LE(cost_of_asking(step, kRuns), kRuns * kQuantum / 49) << step << " ns a step";
}

TEST(ProofBudget, a_thread_that_waits_is_asked_each_time) {
  ProofBudget budget;
  Nanoseconds now = kQuantum;
  for (int i = 0; i < 100; ++i) {
    unsigned steps = budget.begin(now);
    ASSERT_GT(steps, 10'000u);
    now += steps * 1000;
    budget.end(now, true);
  }
}

TEST(ProofBudget, an_expensive_proof_is_made_again_in_time) {
  ProofBudget budget;
  Nanoseconds now = kQuantum;
  unsigned steps = budget.begin(now);
  now += steps * 1000;
  budget.end(now, false);
  EXPECT_EQ(budget.begin(now + kQuantum), 0u);
  EXPECT_GT(budget.begin(now + 25 * kQuantum), 1024u);
}

}  // namespace
}  // namespace roost::spin
