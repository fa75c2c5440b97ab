// The layouts are those of driver/level3/level3_thread.c, level3_syrk_threaded.c, gemm_thread_n.c
// and gemm_thread_m.c of OpenBLAS 0.3.21 and 0.3.29.
#include "blas/cut.h"

#include <algorithm>
#include <iterator>

#include "base/mix.h"

namespace roost::blas {
namespace {

constexpr long kLongest = 1 << 20;  // a matrix's side

bool is_side(long length) { return length > 0 && length <= kLongest; }

bool are_ends(const long* ends, unsigned parts) {
  if (!ends || ends[0] < 0 || !is_side(ends[parts])) return false;
  return std::is_sorted(ends, ends + parts + 1);
}

template <class Number>
Factor factor_of(const Number* number, bool is_complex) {
  if (is_complex && number[1] != 0) return Factor::other;
  if (number[0] == 0) return Factor::zero;
  if (number[0] == 1) return Factor::one;
  return number[0] == -1 ? Factor::minus_one : Factor::other;
}

Factor factor_at(const void* number, bool is_double, bool is_complex) {
  if (!number) return Factor::none;
  if (is_double) return factor_of(static_cast<const double*>(number), is_complex);
  return factor_of(static_cast<const float*>(number), is_complex);
}

// Of `parts` parts, as many as `wanted`, at ends that there are already. Equal in number, or as
// long as they can be.
void join(const long* ends, unsigned parts, long* joined, unsigned wanted, bool by_number) {
  long begin = ends[0], length = ends[parts] - begin;
  for (unsigned i = 0; i <= wanted; ++i) {
    if (by_number) {
      joined[i] = ends[i * parts / wanted];
      continue;
    }
    long ideal = begin + length * static_cast<long>(i) / static_cast<long>(wanted);
    const long* above = std::lower_bound(ends, ends + parts, ideal);
    bool lower_is_nearer = above != ends && ideal - above[-1] < *above - ideal;
    joined[i] = lower_is_nearer ? above[-1] : *above;
  }
}

class Hash {
 public:
  void add(std::uint64_t value) { value_ = mix(value_ + value + kMixStep); }
  void add(const long* values, unsigned n) {
    for (unsigned i = 0; i < n; ++i) add(static_cast<std::uint64_t>(values[i]));
  }
  std::uint64_t value() const { return value_ >> 4; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace

bool Cut::read(Routine routine, const Piece* pieces, unsigned n) {
  constexpr int kUnlike = Piece::kLegacy | Piece::kPlain;
  const Piece& first = pieces[0];
  routine_ = routine;
  n_ = n;
  mode_ = first.mode;
  code_ = first.routine;
  int precision = mode_ & Piece::kPrecision;
  if (n < 2 || mode_ & kUnlike || !first.arguments) return false;
  if (precision != Piece::kSingle && precision != Piece::kDouble) return false;
  for (unsigned i = 1; i < n; ++i) {
    const Piece& it = pieces[i];
    if (it.routine != code_ || it.arguments != first.arguments || it.mode != mode_) return false;
  }
  if (routine == Routine::triangular)
    return read_triangular(pieces) && read_factors(*first.arguments);
  return routine > Routine::other && read_shared(pieces) && read_factors(*first.arguments);
}

// All pieces know where all begin and end, and have flags for each other.
bool Cut::read_shared(const Piece* pieces) {
  const Piece& first = pieces[0];
  const Arguments& arguments = *first.arguments;
  for (unsigned i = 1; i < n_; ++i) {
    if (pieces[i].range_m != first.range_m || pieces[i].range_n != first.range_n) return false;
  }
  bool is_rank_k = routine_ == Routine::rank_k, is_node = mode_ & Piece::kNode;
  if (!arguments.common || arguments.pieces != static_cast<long>(n_)) return false;
  if (is_node == is_rank_k) return false;
  n_ends_ = first.range_n;
  if (!are_ends(n_ends_, n_)) return false;
  columns_ = n_ends_[n_];
  // Of a symmetric matrix k was never set: what was on the stack is there.
  depth_ = routine_ == Routine::symmetric ? 0 : arguments.k;
  has_depth_ = is_side(depth_);
  if (is_rank_k) {
    rows_ = columns_;
    return has_depth_;
  }
  m_ends_ = first.range_m;
  if (!m_ends_ || m_ends_[-1] < 1 || static_cast<long>(n_) % m_ends_[-1] != 0) return false;
  m_parts_ = static_cast<unsigned>(m_ends_[-1]);
  if (!are_ends(m_ends_, m_parts_)) return false;
  rows_ = m_ends_[m_parts_];
  if (!is_side(arguments.m) || !is_side(arguments.n)) return false;
  whole_m_ = arguments.m;
  whole_n_ = arguments.n;
  // Of a symmetric matrix, on either side, one of the two is the depth.
  if (!has_depth_) depth_ = std::max(whole_m_, whole_n_);
  return true;
}

// Each piece has two neighbours of one row of ends.
bool Cut::read_triangular(const Piece* pieces) {
  const Piece& first = pieces[0];
  const Arguments& arguments = *first.arguments;
  bool by_rows = !first.range_n;
  const long* ends = by_rows ? first.range_m : first.range_n;
  if (!ends || (!by_rows && first.range_m)) return false;
  for (unsigned i = 1; i < n_; ++i) {
    const Piece& it = pieces[i];
    if ((by_rows ? it.range_m : it.range_n) != ends + i) return false;
    if ((by_rows ? it.range_n : it.range_m) != nullptr) return false;
  }
  if (!are_ends(ends, n_) || !is_side(arguments.m) || !is_side(arguments.n)) return false;
  (by_rows ? m_ends_ : n_ends_) = ends;
  if (by_rows) m_parts_ = n_;
  rows_ = by_rows ? ends[n_] : arguments.m;
  columns_ = by_rows ? arguments.n : ends[n_];
  depth_ = by_rows ? columns_ : rows_;
  return true;
}

// Triangular routines set no alpha.
bool Cut::read_factors(const Arguments& arguments) {
  bool has_alpha = routine_ != Routine::triangular;
  alpha_ = has_alpha ? factor_at(arguments.alpha, is_double(), is_complex()) : Factor::none;
  beta_ = factor_at(arguments.beta, is_double(), is_complex());
  // Else the routine has next to nothing to do.
  if (has_alpha) return alpha_ != Factor::none && alpha_ != Factor::zero;
  return beta_ != Factor::zero;
}

long Cut::longest() const { return std::max({rows_, columns_, depth_, whole_m_, whole_n_}); }

// Multiplications.
double Cut::work() const {
  double half = routine_ == Routine::rank_k || routine_ == Routine::triangular ? 0.5 : 1;
  return half * static_cast<double>(rows_) * static_cast<double>(columns_) *
         static_cast<double>(depth_);
}

bool Cut::can_be(unsigned fewer, std::size_t bytes) const {
  // Some 30 ms of a core: a core that becomes idle meanwhile has to wait for the next call, and
  // the kernels do better on what is left of so much.
  constexpr double kMostWork = 1 << 30;
  // GEMM_Q (param.h), at most: so many rows of each column are packed at once.
  constexpr std::size_t kMostRows = 1024;
  // Less is done by the time memory takes, whatever the pieces.
  constexpr long kLeastDepth = 16;
  if (depth_ < kLeastDepth) return false;
  if (fewer < 1 || fewer >= n_ || fewer > Fewer::kMost) return false;
  if (work() > kMostWork * fewer) return false;
  if (routine_ == Routine::triangular) return true;  // packs so much at a time as it has room for
  long ends[Fewer::kMost + 1];
  join(n_ends_, n_, ends, fewer, routine_ == Routine::rank_k);
  long widest = 0;
  for (unsigned i = 0; i < fewer; ++i) widest = std::max(widest, ends[i + 1] - ends[i]);
  // The packed halves of a piece are rounded up to what kernels take at a time.
  constexpr std::size_t kRounding = 2 * 64;
  return (static_cast<std::size_t>(widest) + kRounding) * kMostRows * bytes_of_element() <= bytes;
}

std::uint64_t Cut::form(unsigned fewer) const {
  Hash hash;
  hash.add(static_cast<std::uint64_t>(routine_) << 32 | static_cast<std::uint32_t>(mode_));
  hash.add(reinterpret_cast<std::uintptr_t>(code_));
  bool has_beta = beta_ != Factor::none && beta_ != Factor::one;
  for (bool it : {fewer == 1, m_parts_ > 0, m_parts_ < fewer, n_ends_ != nullptr, has_beta})
    hash.add(it);
  return hash.value();
}

std::uint64_t Cut::key(unsigned fewer) const {
  Hash hash;
  hash.add(form(fewer));
  hash.add(std::uint64_t{fewer} << 32 | n_);
  hash.add(static_cast<std::uint64_t>(alpha_) << 8 | static_cast<std::uint64_t>(beta_));
  long sides[] = {rows_, columns_, depth_, has_depth_, whole_m_, whole_n_, m_ends_ != nullptr};
  hash.add(sides, std::size(sides));
  if (m_ends_) hash.add(m_ends_, m_parts_ + 1);
  if (n_ends_) hash.add(n_ends_, n_ + 1);
  return hash.value();
}

Fewer::Fewer(const Cut& cut, Piece* pieces, unsigned fewer)
    : pieces_(pieces), fewer_(fewer), pieces_before_(pieces[0].arguments->pieces) {
  bool shared = cut.routine() != Routine::triangular;
  // As many groups as there are parts of rows: if there are too few, every piece has all rows.
  unsigned m_parts = shared ? (cut.m_parts_ < fewer ? 1 : fewer) : fewer;
  bool by_number = cut.routine() == Routine::rank_k;
  if (cut.m_ends_) join(cut.m_ends_, cut.m_parts_, m_ + 1, m_parts, by_number);
  if (cut.n_ends_) join(cut.n_ends_, cut.n_, n_ + 1, fewer, by_number);
  m_[0] = m_parts;
  n_[0] = fewer / m_parts;
  for (unsigned i = 0; i < fewer; ++i) {
    range_m_before_[i] = pieces[i].range_m;
    range_n_before_[i] = pieces[i].range_n;
    unsigned own = shared ? 0 : i;
    if (cut.m_ends_) pieces[i].range_m = m_ + 1 + own;
    if (cut.n_ends_) pieces[i].range_n = n_ + 1 + own;
  }
  next_before_ = pieces[fewer - 1].next;
  pieces[fewer - 1].next = nullptr;
  if (shared) pieces[0].arguments->pieces = static_cast<long>(fewer);
}

Fewer::~Fewer() {
  for (unsigned i = 0; i < fewer_; ++i) {
    pieces_[i].range_m = range_m_before_[i];
    pieces_[i].range_n = range_n_before_[i];
  }
  pieces_[fewer_ - 1].next = next_before_;
  pieces_[0].arguments->pieces = pieces_before_;
}

}  // namespace roost::blas
