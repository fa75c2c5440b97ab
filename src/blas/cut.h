// How a call of level 3 is cut into pieces, and how the same work is cut into fewer.
//
// Fewer pieces are faster where there are fewer cores for them than the program asked for: the
// kernels are slow on small pieces. What each element of the result is computed of, and in which
// order, does not depend on the cut, but for the kernels' own edges (blas/trial.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "blas/piece.h"
#include "blas/routine.h"

namespace roost::blas {

// A factor, as far as it makes a difference to what is computed.
enum class Factor : std::uint8_t { none, zero, one, minus_one, other };

class Cut {
 public:
  // False if these are not pieces of such a routine, all in all.
  bool read(Routine routine, const Piece* pieces, unsigned n);

  // Whether `fewer` pieces would do: there is enough to do for them and not too much, and what
  // each packs fits into `bytes` of its second buffer.
  bool can_be(unsigned fewer, std::size_t bytes) const;

  // What the bits of the result depend on besides the numbers themselves, if the call is cut into
  // `fewer`: 60 bits of hash.
  std::uint64_t key(unsigned fewer) const;
  // Without sizes and numbers of pieces: how the pieces are laid out, and so how they are joined.
  std::uint64_t form(unsigned fewer) const;

  Routine routine() const { return routine_; }
  unsigned size() const { return n_; }
  // Of the matrices, as far as the pieces go, from their first elements.
  long rows() const { return rows_; }
  long columns() const { return columns_; }
  // How many products are summed up, at most.
  long depth() const { return depth_; }
  // The longest side of any matrix.
  long longest() const;
  // Whether rows are cut, of a triangular routine's result: its unknowns are the columns then.
  bool by_rows() const { return m_ends_ != nullptr; }
  // Whether the arguments say how many.
  bool has_depth() const { return has_depth_; }
  Factor alpha() const { return alpha_; }
  Factor beta() const { return beta_; }
  bool is_double() const { return (mode_ & Piece::kPrecision) == Piece::kDouble; }
  bool is_complex() const { return mode_ & Piece::kComplex; }
  std::size_t bytes_of_element() const {
    return std::size_t{is_double() ? 8u : 4u} << (is_complex() ? 1 : 0);
  }

 private:
  friend class Fewer;
  bool read_shared(const Piece* pieces);
  bool read_triangular(const Piece* pieces);
  bool read_factors(const Arguments& arguments);
  double work() const;

  Routine routine_ = Routine::unknown;
  unsigned n_ = 0;
  int mode_ = 0;
  const void* code_ = nullptr;
  // Where parts end, of the result's rows and columns, from the first's beginning on; null: uncut.
  // Of columns there are as many parts as pieces.
  const long* m_ends_ = nullptr;
  const long* n_ends_ = nullptr;
  unsigned m_parts_ = 0;
  long rows_ = 0, columns_ = 0, depth_ = 0;
  long whole_m_ = 0, whole_n_ = 0;  // of the whole call, if its routine looks at them
  bool has_depth_ = false;
  Factor alpha_ = Factor::none, beta_ = Factor::none;
};

// While it lives, the first `fewer` of a call's pieces do all of its work.
class Fewer {
 public:
  static constexpr unsigned kMost = 64;

  Fewer(const Cut& cut, Piece* pieces, unsigned fewer);
  Fewer(const Fewer&) = delete;
  Fewer& operator=(const Fewer&) = delete;
  ~Fewer();

 private:
  Piece* pieces_;
  unsigned fewer_;
  long pieces_before_;
  Piece* next_before_;
  const long* range_m_before_[kMost];
  const long* range_n_before_[kMost];
  // The number of parts, then where each begins, then the end.
  long m_[kMost + 2];
  long n_[kMost + 2];
};

}  // namespace roost::blas
