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

// Of a's row and b's column, from the beginning, or from the end: other last bits.
template <class Number>
Number element(const Arguments& it, long i, long j, bool backwards) {
  const auto* a = static_cast<const Number*>(it.a);
  const auto* b = static_cast<const Number*>(it.b);
  Number sum = 0;
  for (long step = 0; step < it.k; ++step) {
    long l = backwards ? it.k - 1 - step : step;
    sum += a[i + l * it.lda] * b[l + j * it.ldb];
  }
  return sum;
}

template <class Number>
void put(const Arguments& it, long i, long j, bool backwards) {
  auto& c = static_cast<Number*>(it.c)[i + j * it.ldc];
  Number alpha = *static_cast<Number*>(it.alpha);
  c = alpha * element<Number>(it, i, j, backwards) +
      (it.beta ? *static_cast<Number*>(it.beta) * c : c);
  ++n_computed;
}

// Whether `i` lies behind the last multiple of `unit` of a piece: a kernel's edge, where other code
// is at work.
template <long unit>
bool is_edge(long i, const long* part) {
  return i >= part[0] + (part[1] - part[0]) / unit * unit;
}

// The part of a product that a piece does: its rows of all columns of its group
// (level3_thread.c).
template <long unit, class Number = double>
int multiply(Arguments* it, const long* m, const long* n, void*, void*, long position) {
  long group = position / m[-1], own = position % m[-1];
  for (long j = n[group * m[-1]]; j < n[(group + 1) * m[-1]]; ++j) {
    for (long i = m[own]; i < m[own + 1]; ++i) put<Number>(*it, i, j, is_edge<unit>(i, m + own));
  }
  return 0;
}

// Of a rank-k update, columns up to the diagonal (level3_syrk_threaded.c).
template <long unit>
int update(Arguments* it, const long*, const long* n, void*, void*, long position) {
  Arguments with_itself = *it;
  with_itself.b = it->a, with_itself.ldb = it->lda;
  for (long j = n[position]; j < n[position + 1]; ++j) {
    for (long i = 0; i <= j; ++i) put<double>(with_itself, i, j, is_edge<unit>(j, n + position));
  }
  return 0;
}

// Solves with a lower triangle, from the left, for columns of its own, or scales rows of its own:
// what matters is that it is done once.
template <long unit>
int solve(Arguments* it, const long* m, const long* n, void*, void*, long) {
  const auto* a = static_cast<const double*>(it->a);
  auto* b = static_cast<double*>(it->b);
  for (long j = n ? n[0] : 0; j < (n ? n[1] : it->n); ++j) {
    for (long i = m ? m[0] : 0; i < (m ? m[1] : it->m); ++i) {
      bool edge = n ? is_edge<unit>(j, n) : is_edge<unit>(i, m);
      double sum = b[i + j * it->ldb];
      for (long step = 0; n && step < i; ++step) {
        long l = edge ? i - 1 - step : step;
        sum -= a[i + l * it->lda] * b[l + j * it->ldb];
      }
      double diagonal = a[n ? i * (it->lda + 1) : 0];
      b[i + j * it->ldb] = edge ? sum * (1 / diagonal) : sum / diagonal;
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
