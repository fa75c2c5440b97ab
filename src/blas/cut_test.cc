// Fewer pieces do what all of them do, and pieces of other routines are left alone.
#include "blas/cut.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "blas/fake_test.h"

namespace roost::blas {
namespace {

using test::Call;
using test::equal_parts;

constexpr std::size_t kRoom = std::size_t{64} << 20;  // bytes of a work buffer
constexpr long kWhole = 1 << 20;                      // a unit that leaves everything to the edge

bool are_equal(const Piece& one, const Piece& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}

// What the call gives in all its pieces, and in each smaller number of them; each element once.
void expect_the_same_in_fewer(Call call, Routine routine, long elements) {
  auto n = static_cast<unsigned>(call.list.size());
  std::vector<double>& result = routine == Routine::triangular ? call.b : call.c;
  const std::vector<double> before = result;
  call.settle();
  test::n_computed = 0;
  Call::run(nullptr, call.list.data(), n);
  ASSERT_EQ(test::n_computed, elements);
  const std::vector<double> expected = result;
  Cut cut;
  ASSERT_TRUE(cut.read(routine, call.list.data(), n));
  for (unsigned fewer = 1; fewer < n; ++fewer) {
    ASSERT_TRUE(cut.can_be(fewer, kRoom));
    result = before;
    const std::vector<Piece> pieces = call.list;
    test::n_computed = 0;
    {
      Fewer in_fewer(cut, call.list.data(), fewer);
      EXPECT_EQ(call.list[fewer - 1].next, nullptr);
      Call::run(nullptr, call.list.data(), fewer);
    }
    EXPECT_EQ(test::n_computed, elements) << fewer << " of " << n;
    EXPECT_EQ(result, expected) << fewer << " of " << n;
    EXPECT_EQ(call.arguments.pieces, static_cast<long>(n));
    for (unsigned i = 0; i < n; ++i) EXPECT_TRUE(are_equal(call.list[i], pieces[i])) << i;
  }
}

Call product(long m, long n, long k, unsigned m_parts, unsigned n_parts) {
  Call call(test::multiply<kWhole>, m, n, k, m_parts * n_parts);
  call.cut_shared(equal_parts(m, m_parts), equal_parts(n, m_parts * n_parts));
  return call;
}

TEST(Cut, a_product_in_fewer_pieces_is_the_same) {
  std::minstd_rand random(1);
  for (int trial = 0; trial < 60; ++trial) {
    auto below = [&](unsigned end) { return 1 + random() % end; };
    long m = below(40), n = below(40), k = 15 + below(9);
    unsigned m_parts = below(5), n_parts = below(4);
    if (m_parts * n_parts < 2) continue;
    expect_the_same_in_fewer(product(m, n, k, m_parts, n_parts), Routine::product, m * n);
  }
}

TEST(Cut, parts_behind_the_last_may_be_empty) {
  Call call(test::multiply<kWhole>, 20, 30, 24, 6);
  call.cut_shared({0, 8, 16, 20, 20, 20, 20}, {0, 16, 30, 30, 30, 30, 30});
  expect_the_same_in_fewer(std::move(call), Routine::product, 20 * 30);
}

TEST(Cut, a_product_may_begin_in_the_midst_of_a_matrix) {
  Call call(test::multiply<kWhole>, 20, 30, 24, 4);
  call.cut_shared({4, 8, 12, 16, 20}, {10, 15, 20, 25, 30});
  expect_the_same_in_fewer(std::move(call), Routine::product, 16 * 20);
}

TEST(Cut, a_rank_k_update_in_fewer_pieces_is_the_same) {
  Call call(test::update<1>, 30, 30, 17, 5);
  call.cut_rank_k({0, 13, 19, 23, 27, 30});
  expect_the_same_in_fewer(std::move(call), Routine::rank_k, 30 * 31 / 2);
}

TEST(Cut, a_triangle_is_solved_in_fewer_pieces_by_columns_and_by_rows) {
  for (bool by_rows : {false, true}) {
    Call call(test::solve<1>, 17, 20, 0, 4);
    call.cut_apart(by_rows, equal_parts(by_rows ? 17 : 20, 4));
    expect_the_same_in_fewer(std::move(call), Routine::triangular, 17 * 20);
  }
}

// Whether it is taken for pieces of the routine after a change.
template <class Change>
bool is_read_after(Change change, Routine routine = Routine::product) {
  Call call =
      routine == Routine::product ? product(20, 30, 24, 4, 1) : Call(test::solve<1>, 12, 20, 0, 4);
  if (routine == Routine::triangular) call.cut_apart(false, equal_parts(20, 4));
  call.settle();
  change(call);
  Cut cut;
  return cut.read(routine, call.list.data(), static_cast<unsigned>(call.list.size()));
}

TEST(Cut, reads_what_it_knows_alone) {
  EXPECT_TRUE(is_read_after([](Call&) {}));
  EXPECT_TRUE(is_read_after([](Call&) {}, Routine::triangular));
  static const long kOther[] = {4, 0, 5, 10, 15, 20};
  static const long kMixed[] = {4, 0, 15, 10, 16, 20};
  static const long kFive[] = {5, 0, 4, 8, 12, 16, 20};
  auto set_all = [](Call& call, const long* Piece::*range, const long* ends) {
    for (Piece& piece : call.list) piece.*range = ends;
  };
  EXPECT_FALSE(is_read_after([](Call& it) { it.list[2].routine = nullptr; }));
  EXPECT_FALSE(is_read_after([](Call& it) { it.list[2].mode |= Piece::kLegacy; }));
  EXPECT_FALSE(is_read_after([](Call& it) { it.list[3].range_m = kOther + 1; }));
  EXPECT_FALSE(is_read_after([](Call& it) { it.arguments.pieces = 5; }));
  EXPECT_FALSE(is_read_after([](Call& it) { it.arguments.common = nullptr; }));
  EXPECT_FALSE(is_read_after([](Call& it) { it.arguments.m = 140'000'000'000; }));
  EXPECT_FALSE(is_read_after([](Call& it) { it.arguments.alpha = nullptr; }));
  EXPECT_FALSE(is_read_after([](Call& it) { it.alpha = 0, it.arguments.alpha = &it.alpha; }));
  EXPECT_TRUE(is_read_after([&](Call& it) { set_all(it, &Piece::range_m, kOther + 1); }));
  EXPECT_FALSE(is_read_after([&](Call& it) { set_all(it, &Piece::range_m, kMixed + 1); }));
  EXPECT_FALSE(is_read_after([&](Call& it) { set_all(it, &Piece::range_m, kFive + 1); }));
  EXPECT_FALSE(is_read_after([](Call& it) {
    for (Piece& piece : it.list) piece.mode &= ~Piece::kNode;
  }));
  EXPECT_FALSE(is_read_after([](Call& it) {
    for (Piece& piece : it.list) piece.mode = (piece.mode & ~Piece::kPrecision) | 1;  // bfloat16
  }));
  auto triangular = Routine::triangular;
  EXPECT_FALSE(is_read_after([](Call& it) { it.list[2].range_n = kOther + 1; }, triangular));
  EXPECT_FALSE(is_read_after([](Call& it) { it.list[2].range_m = kOther + 1; }, triangular));
  Call call = product(20, 30, 24, 4, 1);
  EXPECT_FALSE(Cut().read(Routine::other, call.list.data(), 4));
}

TEST(Cut, takes_no_more_work_than_ends_soon_nor_columns_than_fit) {
  Call call = product(40, 60, 19, 4, 1);
  call.settle();
  Cut cut;
  ASSERT_TRUE(cut.read(Routine::product, call.list.data(), 4));
  EXPECT_FALSE(cut.can_be(0, kRoom));
  EXPECT_FALSE(cut.can_be(4, kRoom));
  std::size_t one = 188 * 1024 * sizeof(double), two = 158 * 1024 * sizeof(double);
  EXPECT_TRUE(cut.can_be(1, one));
  EXPECT_FALSE(cut.can_be(1, one - 1));
  EXPECT_TRUE(cut.can_be(2, two));
  call.arguments.k = 15;
  ASSERT_TRUE(cut.read(Routine::product, call.list.data(), 4));
  EXPECT_FALSE(cut.can_be(1, kRoom));
  call.arguments.k = 1 << 19;
  ASSERT_TRUE(cut.read(Routine::product, call.list.data(), 4));
  EXPECT_FALSE(cut.can_be(1, kRoom));
  EXPECT_TRUE(cut.can_be(2, kRoom));
}

TEST(Cut, has_a_key_for_each_thing_that_may_matter) {
  std::set<std::uint64_t> keys;
  auto note = [&](Call call, unsigned fewer) {
    call.settle();
    Cut cut;
    EXPECT_TRUE(
        cut.read(Routine::product, call.list.data(), static_cast<unsigned>(call.list.size())));
    EXPECT_LT(cut.key(fewer), std::uint64_t{1} << 60);
    return keys.insert(cut.key(fewer)).second;
  };
  EXPECT_TRUE(note(product(20, 30, 24, 4, 1), 1));
  EXPECT_FALSE(note(product(20, 30, 24, 4, 1), 1));
  EXPECT_TRUE(note(product(20, 30, 24, 4, 1), 2));
  EXPECT_TRUE(note(product(20, 30, 24, 2, 2), 1));
  EXPECT_TRUE(note(product(20, 30, 25, 4, 1), 1));
  EXPECT_TRUE(note(product(20, 31, 24, 4, 1), 1));
  EXPECT_TRUE(note(product(21, 30, 24, 4, 1), 1));
  Call of_factors = product(20, 30, 24, 4, 1);
  of_factors.alpha = 0.75;
  EXPECT_FALSE(note(of_factors, 1));
  for (double factor : {1.0, -1.0}) {
    of_factors.alpha = factor;
    EXPECT_TRUE(note(of_factors, 1));
  }
  of_factors.beta = 0;
  EXPECT_TRUE(note(of_factors, 1));
}

// symm sets no k: whatever was on the stack is there.
TEST(Cut, of_a_symmetric_matrix_a_side_is_the_depth) {
  Call call = product(20, 30, 24, 4, 1);
  call.settle();
  Cut cut;
  ASSERT_TRUE(cut.read(Routine::product, call.list.data(), 4));
  EXPECT_TRUE(cut.has_depth());
  std::uint64_t of_a_product = cut.key(1);
  ASSERT_TRUE(cut.read(Routine::symmetric, call.list.data(), 4));
  std::uint64_t key = cut.key(1);
  EXPECT_NE(key, of_a_product);
  for (long k : {0L, 5L, 30L, -7L, 140'000'000'000L}) {
    call.arguments.k = k;
    ASSERT_TRUE(cut.read(Routine::symmetric, call.list.data(), 4));
    EXPECT_FALSE(cut.has_depth());
    EXPECT_EQ(cut.depth(), 30);
    EXPECT_TRUE(cut.can_be(1, kRoom));
    EXPECT_EQ(cut.key(1), key);
  }
  // What it reads may be longer than what its pieces write.
  call.arguments.n = 500;
  ASSERT_TRUE(cut.read(Routine::symmetric, call.list.data(), 4));
  EXPECT_EQ(cut.longest(), 500);
  EXPECT_NE(cut.key(1), key);
}

TEST(Routine, is_told_by_the_names_about_its_code) {
  auto of_routine = [](const char* name) { return routine_named({name, nullptr, "x", "x"}); };
  auto of_caller = [](const char* name) { return routine_named({nullptr, name, "x", "x"}); };
  EXPECT_EQ(of_routine("dtrsm_LNUU"), Routine::triangular);
  EXPECT_EQ(of_routine("strmm_RTLN"), Routine::triangular);
  for (const char* name : {"dtrsv_NLN", "dsyr2k_UN", "dgemm_thread_nt", "dtrsm_LNUUX"})
    EXPECT_EQ(of_routine(name), Routine::other) << name;
  EXPECT_EQ(of_caller("csyrk_thread_UN"), Routine::rank_k);
  EXPECT_EQ(of_caller("dgemm_thread_nt"), Routine::product);
  for (const char* name : {"ssymm_thread_RU", "zhemm_thread_LL"})
    EXPECT_EQ(of_caller(name), Routine::symmetric) << name;
  for (const char* name : {"dgemv_thread_n", "gemm_thread_n", "xgemm_thread_nn", "zherk_thread_UN",
                           "dgemm_thread_nnn", "dgetrf_parallel", "cgemm3m_thread_nn"}) {
    EXPECT_EQ(of_caller(name), Routine::other) << name;
  }
  // In a static function, on either side of the exported one.
  EXPECT_EQ(routine_named({nullptr, nullptr, "dgemm_thread_nt", "x"}), Routine::product);
  EXPECT_EQ(routine_named({nullptr, nullptr, "x", "dsymm_thread_LU"}), Routine::symmetric);
  EXPECT_EQ(routine_named({nullptr, nullptr, "dgemm_thread_tt", "dsymm_thread_LU"}),
            Routine::symmetric);
  EXPECT_EQ(routine_named({nullptr, nullptr, "x", "dsyrk_thread_UN"}), Routine::other);
  EXPECT_EQ(routine_named({}), Routine::other);
}

}  // namespace
}  // namespace roost::blas
