// A BLAS of a few lines that cuts its calls as OpenBLAS does, for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "blas/piece.h"

namespace roost::blas::test {

// Elements of results so far.
inline long n_computed;

inline double element(const Arguments& it, long i, long j) {
  const auto* a = static_cast<const double*>(it.a);
  const auto* b = static_cast<const double*>(it.b);
  double sum = 0;
  for (long l = 0; l < it.k; ++l) sum += a[i + l * it.lda] * b[l + j * it.ldb];
  return sum;
}

// The same sum from its end: other last bits.
inline double element_backwards(const Arguments& it, long i, long j) {
  const auto* a = static_cast<const double*>(it.a);
  const auto* b = static_cast<const double*>(it.b);
  double sum = 0;
  for (long l = it.k; l-- > 0;) sum += a[i + l * it.lda] * b[l + j * it.ldb];
  return sum;
}

inline void put(const Arguments& it, long i, long j, double sum) {
  auto& c = static_cast<double*>(it.c)[i + j * it.ldc];
  double alpha = *static_cast<double*>(it.alpha);
  c = alpha * sum + (it.beta ? *static_cast<double*>(it.beta) * c : c);
  ++n_computed;
}

// The part of a product that a piece does: its rows of all columns of its group
// (level3_thread.c). What is left of rows behind the last multiple of `unit` is summed up the other
// way round: a kernel's edge.
template <long unit>
int multiply(Arguments* it, const long* m, const long* n, void*, void*, long position) {
  long group = position / m[-1], own = position % m[-1];
  long columns_end = n[(group + 1) * m[-1]];
  for (long j = n[group * m[-1]]; j < columns_end; ++j) {
    for (long i = m[own]; i < m[own + 1]; ++i) {
      bool edge = i >= m[own] + (m[own + 1] - m[own]) / unit * unit;
      put(*it, i, j, edge ? element_backwards(*it, i, j) : element(*it, i, j));
    }
  }
  return 0;
}

// Of a rank-k update, columns up to the diagonal (level3_syrk_threaded.c).
inline int update(Arguments* it, const long*, const long* n, void*, void*, long position) {
  for (long j = n[position]; j < n[position + 1]; ++j) {
    for (long i = 0; i <= j; ++i) put(*it, i, j, element(*it, i, j));
  }
  return 0;
}

// Solves with a lower triangle, from the left, for columns of its own, or scales rows of its own:
// what matters is that it is done once.
inline int solve(Arguments* it, const long* m, const long* n, void*, void*, long) {
  const auto* a = static_cast<const double*>(it->a);
  auto* b = static_cast<double*>(it->b);
  for (long j = n ? n[0] : 0; j < (n ? n[1] : it->n); ++j) {
    for (long i = m ? m[0] : 0; i < (m ? m[1] : it->m); ++i) {
      double sum = b[i + j * it->ldb];
      for (long l = 0; n && l < i; ++l) sum -= a[i + l * it->lda] * b[l + j * it->ldb];
      b[i + j * it->ldb] = sum / a[n ? i * (it->lda + 1) : 0];
      ++n_computed;
    }
  }
  return 0;
}

// A call with matrices of its own, in pieces.
class Call {
 public:
  Call(Piece::Routine* routine, long m, long n, long k, unsigned pieces)
      : a(static_cast<std::size_t>(m * std::max(k, m))),
        b(static_cast<std::size_t>(std::max(k, m) * n)),
        c(static_cast<std::size_t>(m * n)),
        list(pieces) {
    std::memset(list.data(), 0, pieces * sizeof list[0]);
    fill(a), fill(b), fill(c);
    arguments.m = m, arguments.n = n, arguments.k = k;
    arguments.lda = arguments.ldc = m;
    arguments.ldb = std::max(k, m);
    arguments.pieces = pieces;
    for (Piece& piece : list) {
      piece.routine = reinterpret_cast<void*>(routine);
      piece.mode = Piece::kDouble;
    }
    settle();
  }

  // Where it lies now, after it was moved.
  void settle() {
    arguments.a = a.data(), arguments.b = b.data(), arguments.c = c.data();
    arguments.alpha = &alpha, arguments.beta = &beta;
    arguments.common = flags;
    for (Piece& piece : list) {
      piece.arguments = &arguments;
      piece.next = &piece == &list.back() ? nullptr : &piece + 1;
    }
  }

  // As level3_thread.c cuts: rows into `m_parts`, columns into as many as there are pieces.
  void cut_shared(std::vector<long> m_ends, std::vector<long> n_ends) {
    m_ends_ = std::move(m_ends);
    n_ends_ = std::move(n_ends);
    m_ends_.insert(m_ends_.begin(), static_cast<long>(m_ends_.size()) - 1);
    n_ends_.insert(n_ends_.begin(), static_cast<long>(list.size()) / m_ends_[0]);
    for (Piece& piece : list) {
      piece.mode |= Piece::kNode;
      piece.range_m = m_ends_.data() + 1;
      piece.range_n = n_ends_.data() + 1;
    }
  }
  // As level3_syrk_threaded.c does.
  void cut_rank_k(std::vector<long> ends) {
    n_ends_ = std::move(ends);
    for (Piece& piece : list) piece.range_n = n_ends_.data();
  }
  // As gemm_thread_m.c and gemm_thread_n.c do.
  void cut_apart(bool by_rows, std::vector<long> ends) {
    n_ends_ = std::move(ends);
    for (unsigned i = 0; i < list.size(); ++i)
      (by_rows ? list[i].range_m : list[i].range_n) = &n_ends_[i];
  }

  static bool run(void*, Piece* pieces, unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
      Piece& it = pieces[i];
      reinterpret_cast<Piece::Routine*>(it.routine)(it.arguments, it.range_m, it.range_n, it.a,
                                                    it.b, i);
    }
    return true;
  }

  std::vector<double> a, b, c;
  double alpha = 0.5, beta = 0.25;
  Arguments arguments{};
  std::vector<Piece> list;

 private:
  static void fill(std::vector<double>& matrix) {
    double value = 0.3;
    for (double& it : matrix) it = value = 3.7 * value * (1 - value);
  }

  char flags[1] = {};
  std::vector<long> m_ends_, n_ends_;
};

// Ends of so many equal parts, as far as that goes.
inline std::vector<long> equal_parts(long length, unsigned parts) {
  std::vector<long> ends;
  for (unsigned i = 0; i <= parts; ++i) ends.push_back(length * i / parts);
  return ends;
}

}  // namespace roost::blas::test
