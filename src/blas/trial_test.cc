// A trial tells a routine with edges from one without, and what it has said is kept.
#include "blas/trial.h"

#include <gtest/gtest.h>

#include "blas/fake_test.h"

namespace roost::blas {
namespace {

using test::Call;
using test::equal_parts;

bool is_same(Call& call, Routine routine, unsigned fewer = 1,
             bool (*run)(void*, Piece*, unsigned) = Call::run) {
  Cut cut;
  EXPECT_TRUE(cut.read(routine, call.list.data(), static_cast<unsigned>(call.list.size())));
  return same_results(cut, call.list.data(), fewer, {run, nullptr});
}

TEST(Trial, results_are_the_same_if_pieces_end_where_kernels_do) {
  Call even(test::multiply<4>, 48, 30, 20, 4);
  even.cut_shared(equal_parts(48, 4), equal_parts(30, 4));
  EXPECT_TRUE(is_same(even, Routine::product));
  EXPECT_TRUE(is_same(even, Routine::product, 2));
  // Pieces of 11 rows: each has three of them by other code.
  Call odd(test::multiply<4>, 44, 30, 20, 4);
  odd.cut_shared(equal_parts(44, 4), equal_parts(30, 4));
  EXPECT_FALSE(is_same(odd, Routine::product));
}

TEST(Trial, tries_every_routine) {
  Call update(test::update, 30, 30, 7, 5);
  update.cut_rank_k({0, 13, 19, 23, 27, 30});
  EXPECT_TRUE(is_same(update, Routine::rank_k, 3));
  for (bool by_rows : {false, true}) {
    Call solve(test::solve, 12, 20, 0, 4);
    solve.cut_apart(by_rows, equal_parts(by_rows ? 12 : 20, 4));
    EXPECT_TRUE(is_same(solve, Routine::triangular, 2));
  }
}

TEST(Trial, leaves_the_call_as_it_was) {
  Call call(test::multiply<1>, 40, 30, 20, 4);
  call.cut_shared(equal_parts(40, 4), equal_parts(30, 4));
  const std::vector<double> a = call.a, b = call.b, c = call.c;
  const Arguments arguments = call.arguments;
  EXPECT_TRUE(is_same(call, Routine::product));
  EXPECT_EQ(std::memcmp(&arguments, &call.arguments, sizeof arguments), 0);
  EXPECT_EQ(call.a, a);
  EXPECT_EQ(call.b, b);
  EXPECT_EQ(call.c, c);
}

TEST(Trial, says_no_if_pieces_cannot_be_done_or_matrices_are_too_large) {
  Call call(test::multiply<1>, 40, 30, 20, 4);
  call.cut_shared(equal_parts(40, 4), equal_parts(30, 4));
  auto cannot = [](void*, Piece*, unsigned) { return false; };
  EXPECT_FALSE(is_same(call, Routine::product, 1, cannot));
  call.cut_shared(equal_parts(4000, 4), equal_parts(4000, 4));
  auto must_not = [](void*, Piece*, unsigned) {
    ADD_FAILURE();
    return true;
  };
  EXPECT_FALSE(is_same(call, Routine::product, 1, must_not));
}

using Answer = Verdicts::Answer;

// Asks until it is to be tried; the number of the question.
int questions_until_tried(Verdicts& verdicts, std::uint64_t key) {
  for (int i = 1; i <= 100; ++i) {
    if (verdicts.ask(key) == Answer::try_now) return i;
  }
  return 0;
}

TEST(Trial, a_long_sum_is_tried_by_a_shorter_one) {
  Call call(test::multiply<1>, 24, 30, 1000, 4);
  call.cut_shared(equal_parts(24, 4), equal_parts(30, 4));
  static long depth;
  auto run = [](void*, Piece* pieces, unsigned n) {
    depth = pieces[0].arguments->k;
    return Call::run(nullptr, pieces, n);
  };
  EXPECT_TRUE(is_same(call, Routine::product, 1, run));
  EXPECT_EQ(depth, 128 + 1000 % 64);
  EXPECT_EQ(call.arguments.k, 1000);
}

TEST(Verdicts, a_call_is_tried_once_when_it_has_come_a_few_times) {
  Verdicts verdicts;
  EXPECT_EQ(questions_until_tried(verdicts, 77), 10);
  EXPECT_EQ(verdicts.ask(77), Answer::not_yet);
  verdicts.note(77, true);
  EXPECT_EQ(verdicts.ask(77), Answer::same);
  EXPECT_EQ(questions_until_tried(verdicts, 0), 8);
  verdicts.note(0, false);
  EXPECT_EQ(verdicts.ask(0), Answer::differs);
  EXPECT_EQ(verdicts.ask(77), Answer::same);
}

TEST(Verdicts, what_comes_once_takes_no_place_from_what_was_tried) {
  Verdicts verdicts;
  questions_until_tried(verdicts, 5);
  verdicts.note(5, true);
  for (std::uint64_t key = 1000; key < 100'000; ++key)
    EXPECT_EQ(verdicts.ask(key), Answer::not_yet);
  EXPECT_EQ(verdicts.ask(5), Answer::same);
}

TEST(Verdicts, never_say_of_one_call_what_was_found_of_another) {
  Verdicts verdicts;
  for (std::uint64_t key = 0; key < 4000; ++key) {
    std::uint64_t spread = key * 0x9e3779b97f4a7c15u >> 4;
    if (questions_until_tried(verdicts, spread)) verdicts.note(spread, key % 3 == 0);
  }
  unsigned known = 0;
  for (std::uint64_t key = 0; key < 4000; ++key) {
    Answer answer = verdicts.ask(key * 0x9e3779b97f4a7c15u >> 4);
    if (answer == Answer::not_yet) continue;
    ++known;
    EXPECT_EQ(answer == Answer::same, key % 3 == 0);
  }
  EXPECT_GT(known, 100u);
}

}  // namespace
}  // namespace roost::blas
