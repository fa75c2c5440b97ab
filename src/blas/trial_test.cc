// Trials tell a routine with edges from one without, and what they have said is kept.
#include "blas/trial.h"

#include <gtest/gtest.h>

#include "blas/fake_test.h"
#include "os/sys.h"

namespace roost::blas {
namespace {

using test::Call;
using test::equal_parts;
using Run = bool(void*, Piece*, unsigned);

Outcome outcome(Call& call, Routine routine, unsigned fewer = 1, Run* run = Call::run,
                Question question = Question::same) {
  call.settle();
  Cut cut;
  EXPECT_TRUE(cut.read(routine, call.list.data(), static_cast<unsigned>(call.list.size())));
  static Scratch scratch;
  return try_call(cut, call.list.data(), fewer, 1, question, {run, nullptr}, scratch);
}

TEST(Trial, results_are_the_same_if_pieces_end_where_kernels_do) {
  Call even(test::multiply<4>, 48, 30, 20, 4);
  even.cut_shared(equal_parts(48, 4), equal_parts(30, 4));
  EXPECT_EQ(outcome(even, Routine::product), Outcome::same);
  EXPECT_EQ(outcome(even, Routine::product, 2), Outcome::same);
  // Pieces of 11 rows: each has three of them by other code.
  Call odd(test::multiply<4>, 44, 30, 20, 4);
  odd.cut_shared(equal_parts(44, 4), equal_parts(30, 4));
  EXPECT_EQ(outcome(odd, Routine::product), Outcome::differs);
}

// With edges that round otherwise results are right; without a piece's work they are not.
TEST(Trial, tells_what_is_right_from_what_is_not) {
  auto lazy = [](void* context, Piece* pieces, unsigned n) {
    return Call::run(context, pieces, n == 1 ? 1 : n - 1);
  };
  Call product(test::multiply<4>, 44, 30, 20, 4);
  product.cut_shared(equal_parts(44, 4), equal_parts(30, 4));
  EXPECT_EQ(outcome(product, Routine::product, 1, Call::run, Question::right), Outcome::same);
  EXPECT_EQ(outcome(product, Routine::product, 1, lazy, Question::right), Outcome::differs);
  Call symmetric(test::multiply<4>, 44, 30, 20, 4);
  symmetric.cut_shared(equal_parts(44, 4), equal_parts(30, 4));
  EXPECT_EQ(outcome(symmetric, Routine::symmetric, 1, Call::run, Question::right), Outcome::same);
  for (bool by_rows : {false, true}) {
    Call solve(test::solve<5>, 64, 64, 0, 4);
    solve.cut_apart(by_rows, equal_parts(64, 4));
    EXPECT_EQ(outcome(solve, Routine::triangular), Outcome::differs);
    EXPECT_EQ(outcome(solve, Routine::triangular, 1, Call::run, Question::right), Outcome::same);
    EXPECT_EQ(outcome(solve, Routine::triangular, 1, lazy, Question::right), Outcome::differs);
  }
}

TEST(KnownForms, are_told_from_each_other) {
  using Answer = KnownForms::Answer;
  KnownForms forms;
  for (std::uint64_t form = 1; form <= 300; ++form) {
    EXPECT_EQ(forms.ask(form), form <= 256 ? Answer::to_be_tried : Answer::wrong);
    forms.note(form, form % 2);
  }
  for (std::uint64_t form = 1; form <= 256; ++form)
    EXPECT_EQ(forms.ask(form), form % 2 ? Answer::right : Answer::wrong);
}

TEST(Trial, knows_numbers_of_single_precision) {
  for (long rows : {48, 44}) {
    Call call(test::multiply<4, float>, rows, 30, 20, 4);
    call.cut_shared(equal_parts(rows, 4), equal_parts(30, 4));
    for (Piece& piece : call.list) piece.mode ^= Piece::kSingle ^ Piece::kDouble;
    const float factor = 0.5;
    std::memcpy(&call.alpha, &factor, sizeof factor);
    std::memcpy(&call.beta, &factor, sizeof factor);
    EXPECT_EQ(outcome(call, Routine::product), rows == 48 ? Outcome::same : Outcome::differs);
  }
}

TEST(Trial, tells_rank_k_updates_from_each_other) {
  const std::vector<long> ends = {0, 16, 24, 28, 32, 36};
  Call even(test::update<4>, 36, 36, 20, 5);
  even.cut_rank_k(ends);
  EXPECT_EQ(outcome(even, Routine::rank_k, 3), Outcome::same);
  Call odd(test::update<5>, 36, 36, 20, 5);
  odd.cut_rank_k(ends);
  EXPECT_EQ(outcome(odd, Routine::rank_k, 3), Outcome::differs);
}

TEST(Trial, tells_triangular_routines_from_each_other) {
  for (bool by_rows : {false, true}) {
    Call even(test::solve<4>, 32, 32, 0, 4);
    even.cut_apart(by_rows, equal_parts(32, 4));
    EXPECT_EQ(outcome(even, Routine::triangular, 2), Outcome::same);
    Call odd(test::solve<6>, 32, 32, 0, 4);
    odd.cut_apart(by_rows, equal_parts(32, 4));
    EXPECT_EQ(outcome(odd, Routine::triangular, 2), Outcome::differs);
  }
}

TEST(Trial, leaves_the_call_as_it_was) {
  Call call(test::multiply<1>, 40, 30, 20, 4);
  call.cut_shared(equal_parts(40, 4), equal_parts(30, 4));
  const std::vector<double> a = call.a, b = call.b, c = call.c;
  call.settle();
  const Arguments arguments = call.arguments;
  EXPECT_EQ(outcome(call, Routine::product), Outcome::same);
  EXPECT_EQ(std::memcmp(&arguments, &call.arguments, sizeof arguments), 0);
  EXPECT_EQ(call.a, a);
  EXPECT_EQ(call.b, b);
  EXPECT_EQ(call.c, c);
}

// Keeps what it was given to work on.
Arguments seen;
bool look(void*, Piece* pieces, unsigned n) {
  seen = *pieces[0].arguments;
  return Call::run(nullptr, pieces, n);
}

TEST(Trial, a_long_sum_is_tried_by_a_shorter_one) {
  Call call(test::multiply<1>, 24, 30, 1000, 4);
  call.cut_shared(equal_parts(24, 4), equal_parts(30, 4));
  EXPECT_EQ(outcome(call, Routine::product, 1, look), Outcome::same);
  EXPECT_EQ(seen.k, 64 + 1000 % 64);
  EXPECT_EQ(call.arguments.k, 1000);
}

TEST(Trial, unknowns_are_tried_in_their_number_and_in_a_few) {
  for (bool by_rows : {false, true}) {
    Call call(test::solve<4>, by_rows ? 32 : 330, by_rows ? 330 : 32, 0, 4);
    call.cut_apart(by_rows, equal_parts(32, 4));
    static std::vector<long> orders;
    static bool rows;
    orders.clear(), rows = by_rows;
    auto run = [](void*, Piece* pieces, unsigned n) {
      const Arguments& it = *pieces[0].arguments;
      orders.push_back(rows ? it.n : it.m);
      EXPECT_EQ(rows ? it.m : it.n, 32);
      return Call::run(nullptr, pieces, n);
    };
    EXPECT_EQ(outcome(call, Routine::triangular, 1, run), Outcome::same);
    EXPECT_EQ(orders[0], 330);
    EXPECT_EQ(orders[1], 330);
    EXPECT_EQ(orders.back(), 32 + 330 % 32);
    EXPECT_EQ(by_rows ? call.arguments.n : call.arguments.m, 330);
  }
}

TEST(Trial, a_timed_one_tells_whether_fewer_pieces_take_less_time) {
  Call call(test::multiply<1>, 40, 30, 20, 4);
  call.cut_shared(equal_parts(40, 4), equal_parts(30, 4));
  call.settle();
  Cut cut;
  ASSERT_TRUE(cut.read(Routine::product, call.list.data(), 4));
  Scratch scratch;
  // The call in all its pieces, or the one in fewer, takes 10 ms longer than it does anyway.
  for (unsigned slow : {4u, 1u}) {
    auto run = [](void* context, Piece* pieces, unsigned n) {
      if (n == *static_cast<unsigned*>(context)) os::sleep_for(10'000'000);
      return Call::run(nullptr, pieces, n);
    };
    auto asked = [&](Question question) {
      return try_call(cut, call.list.data(), 1, 1, question, {run, &slow}, scratch);
    };
    EXPECT_EQ(asked(Question::same_faster), slow == 4 ? Outcome::same : Outcome::no_gain);
    EXPECT_EQ(asked(Question::same), Outcome::same);
  }
}

TEST(Scratch, keeps_what_suffices_for_most) {
  Scratch scratch;
  char* small = scratch.take(1000);
  small[999] = 7;
  scratch.give_back();
  EXPECT_EQ(scratch.take(900), small);
  EXPECT_EQ(small[999], 7);
  scratch.give_back();
  char* large = scratch.take(std::size_t{20} << 20);
  large[(std::size_t{20} << 20) - 1] = 7;
  scratch.give_back();
  // What was much is there no more: this one is new.
  EXPECT_EQ(scratch.take(1000)[999], 0);
}

TEST(Trial, factors_are_of_the_callers_kind_but_not_the_callers) {
  for (double factor : {0.0, 1.0, -1.0, 1e-300}) {
    Call call(test::multiply<1>, 24, 30, 20, 4);
    call.cut_shared(equal_parts(24, 4), equal_parts(30, 4));
    call.beta = factor;
    double beta = 0;
    static double* it;
    it = &beta;
    auto run = [](void*, Piece* pieces, unsigned n) {
      *it = *static_cast<double*>(pieces[0].arguments->beta);
      return Call::run(nullptr, pieces, n);
    };
    EXPECT_EQ(outcome(call, Routine::product, 1, run), Outcome::same);
    EXPECT_EQ(beta, factor == 1e-300 ? 0.785398163397448 : factor);
  }
}

TEST(Trial, says_nothing_if_pieces_cannot_be_done_or_matrices_are_too_large) {
  Call call(test::multiply<1>, 4000, 4000, 1, 4);
  call.cut_shared(equal_parts(40, 4), equal_parts(30, 4));
  auto cannot = [](void*, Piece*, unsigned) { return false; };
  EXPECT_EQ(outcome(call, Routine::product, 1, cannot), Outcome::unknown);
  call.cut_shared(equal_parts(4000, 4), equal_parts(4000, 4));
  auto must_not = [](void*, Piece*, unsigned) {
    ADD_FAILURE();
    return true;
  };
  EXPECT_EQ(outcome(call, Routine::product, 1, must_not), Outcome::unknown);
}

using Verdict = Verdicts::Verdict;

// Asks until there is a verdict, and answers trials with `outcome`; how many there were, and how
// many questions before the first.
struct Asked {
  Verdict verdict;
  unsigned trials, before;
};
Asked ask_until_known(Verdicts& verdicts, std::uint64_t key, Outcome outcome) {
  unsigned trials = 0, before = 0;
  for (int i = 0; i < 100; ++i) {
    Verdicts::Answer answer = verdicts.ask(key);
    if (answer.verdict != Verdict::not_yet) return {answer.verdict, trials, before};
    if (answer.trial) {
      EXPECT_TRUE(outcome == Outcome::no_gain || answer.trial == trials + 1);
      verdicts.note(key, answer.trial, outcome);
      ++trials;
    } else if (trials == 0) {
      ++before;
    }
  }
  return {Verdict::not_yet, trials, before};
}

TEST(Verdicts, a_call_is_tried_a_few_times_when_it_has_come_a_few_times) {
  Verdicts verdicts;
  Asked same = ask_until_known(verdicts, 77, Outcome::same);
  EXPECT_EQ(same.verdict, Verdict::fewer);
  EXPECT_EQ(same.trials, Verdicts::kTrials);
  EXPECT_EQ(same.before, Verdicts::kSeenFirst);
  Asked other = ask_until_known(verdicts, 0, Outcome::differs);
  EXPECT_EQ(other.verdict, Verdict::stays);
  EXPECT_EQ(other.trials, 1u);
  EXPECT_EQ(verdicts.ask(77).verdict, Verdict::fewer);
  EXPECT_EQ(verdicts.ask(0).verdict, Verdict::stays);
}

TEST(Verdicts, one_difference_is_enough) {
  Verdicts verdicts;
  for (unsigned i = 0; i < Verdicts::kSeenFirst; ++i) verdicts.ask(9);
  for (unsigned trial = 1; trial < Verdicts::kTrials; ++trial) {
    EXPECT_EQ(verdicts.ask(9).trial, trial);
    verdicts.note(9, trial, Outcome::same);
  }
  EXPECT_EQ(verdicts.ask(9).trial, Verdicts::kTrials);
  verdicts.note(9, Verdicts::kTrials, Outcome::differs);
  EXPECT_EQ(verdicts.ask(9).verdict, Verdict::stays);
}

TEST(Verdicts, what_gains_nothing_twice_stays) {
  Verdicts verdicts;
  Asked useless = ask_until_known(verdicts, 5, Outcome::no_gain);
  EXPECT_EQ(useless.verdict, Verdict::stays);
  EXPECT_EQ(useless.trials, 2u);
}

TEST(Verdicts, what_gains_the_second_time_is_tried_as_often_as_others) {
  Verdicts verdicts;
  for (unsigned i = 0; i < Verdicts::kSeenFirst; ++i) verdicts.ask(5);
  unsigned trial = verdicts.ask(5).trial;
  EXPECT_TRUE(Verdicts::is_timed(trial));
  verdicts.note(5, trial, Outcome::no_gain);
  trial = verdicts.ask(5).trial;
  EXPECT_TRUE(Verdicts::is_timed(trial));
  verdicts.note(5, trial, Outcome::same);
  for (unsigned i = 3; i <= Verdicts::kTrials; ++i) {
    Verdicts::Answer answer = verdicts.ask(5);
    EXPECT_EQ(answer.verdict, Verdict::not_yet);
    EXPECT_EQ(answer.trial, i);
    EXPECT_FALSE(Verdicts::is_timed(answer.trial));
    verdicts.note(5, answer.trial, Outcome::same);
  }
  EXPECT_EQ(verdicts.ask(5).verdict, Verdict::fewer);
}

TEST(Verdicts, no_trial_is_made_while_there_is_no_time_for_it) {
  Verdicts verdicts;
  for (unsigned i = 0; i < 3 * Verdicts::kSeenFirst; ++i)
    EXPECT_EQ(verdicts.ask(5, false).trial, 0u);
  EXPECT_EQ(verdicts.ask(5).trial, 1u);
}

TEST(TrialTime, is_some_at_once_and_a_part_of_what_is_undecided) {
  TrialTime time;
  EXPECT_TRUE(time.is_left());
  time.spend(128'000'000);
  EXPECT_FALSE(time.is_left());
  time.add_undecided(32'000'000);
  EXPECT_TRUE(time.is_left());
  time.spend(1'000'000);
  EXPECT_FALSE(time.is_left());
}

TEST(Verdicts, one_trial_is_made_at_a_time_and_again_if_it_says_nothing) {
  Verdicts verdicts;
  for (std::uint64_t key : {5, 6}) {
    for (unsigned i = 0; i < Verdicts::kSeenFirst; ++i) EXPECT_EQ(verdicts.ask(key).trial, 0u);
  }
  EXPECT_EQ(verdicts.ask(5).trial, 1u);
  EXPECT_EQ(verdicts.ask(5).trial, 0u);
  EXPECT_EQ(verdicts.ask(6).trial, 0u);
  verdicts.note(5, 1, Outcome::unknown);
  EXPECT_EQ(verdicts.ask(5).trial, 1u);
  verdicts.after_fork();
  EXPECT_EQ(verdicts.ask(6).trial, 1u);
}

TEST(Verdicts, what_comes_once_takes_no_place_from_what_was_tried) {
  Verdicts verdicts;
  ask_until_known(verdicts, 5, Outcome::same);
  for (std::uint64_t key = 1000; key < 100'000; ++key)
    EXPECT_EQ(verdicts.ask(key).verdict, Verdict::not_yet);
  EXPECT_EQ(verdicts.ask(5).verdict, Verdict::fewer);
}

TEST(Verdicts, never_say_of_one_call_what_was_found_of_another) {
  Verdicts verdicts;
  auto key_of = [](std::uint64_t i) { return i * 0x9e3779b97f4a7c15u >> 4; };
  for (std::uint64_t i = 0; i < 4000; ++i)
    ask_until_known(verdicts, key_of(i), i % 3 == 0 ? Outcome::same : Outcome::differs);
  unsigned known = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Verdict verdict = verdicts.ask(key_of(i)).verdict;
    if (verdict == Verdict::not_yet) continue;
    ++known;
    EXPECT_EQ(verdict == Verdict::fewer, i % 3 == 0);
  }
  EXPECT_GT(known, 100u);
}

}  // namespace
}  // namespace roost::blas
