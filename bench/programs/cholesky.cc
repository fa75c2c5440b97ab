// Blocked Cholesky factorisation A = L L^T (USF, section 5.4), right-looking, one task a tile
// operation: potrf on the diagonal, trsm below it, syrk and gemm on what is left.
#include <cblas.h>

#include "nested.h"
#include "tiles.h"

// LAPACK's Fortran entry, in the same library.
extern "C" void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info,
                        std::size_t uplo_length);

namespace {

class Cholesky final : public NestedProblem {
 public:
  Cholesky(int size, int tile) : a_(size, tile), l_(size, tile) {
    for (int j = 0; j < size; ++j) {
      for (int i = j; i < size; ++i) {
        // Strong diagonal: positive definite, and small rounding errors stay small.
        a_.element(i, j) = i == j ? size : element_value(i, j);
      }
    }
    const int n = l_.blocks();
    last_writer_.assign(n * n, -1);
    for (int k = 0; k < n; ++k) {
      const int diagonal = add_task(k, k, [=, this] { potrf(l_, k); });
      for (int i = k + 1; i < n; ++i) {
        graph_.order(diagonal, add_task(i, k, [=, this] { trsm(l_, i, k); }));
      }
      for (int j = k + 1; j < n; ++j) {
        for (int i = j; i < n; ++i) {
          const int left = last_writer_[i * n + k];
          const int right = last_writer_[j * n + k];
          const int task = add_task(i, j, [=, this] { update(l_, i, j, k); });
          graph_.order(left, task);
          if (right != left) graph_.order(right, task);
        }
      }
    }
  }

  const char* name() const override { return "cholesky"; }
  double flops() const override {
    const double n = l_.blocks() * l_.tile();
    return n * n * n / 3;
  }
  void reset() override { l_.copy_from(a_); }
  TaskGraph& graph() override { return graph_; }
  double checksum() const override { return l_.sum(); }

  double error() override {
    const int n = l_.blocks();
    Tiles reference(n * l_.tile(), l_.tile());
    reference.copy_from(a_);
    for (int k = 0; k < n; ++k) {
      potrf(reference, k);
      for (int i = k + 1; i < n; ++i) trsm(reference, i, k);
      for (int j = k + 1; j < n; ++j) {
        for (int i = j; i < n; ++i) update(reference, i, j, k);
      }
    }
    return largest_difference(l_, reference);
  }

 private:
  // A task that writes tile (i, j), after the one that wrote it before.
  int add_task(int i, int j, std::function<void()> body) {
    const int task = graph_.add(std::move(body));
    int& last = last_writer_[i * l_.blocks() + j];
    if (last >= 0) graph_.order(last, task);
    return last = task;
  }

  static void potrf(const Tiles& l, int k) {
    const int t = l.tile();
    int info = 0;  // a failure shows as a wrong result
    dpotrf_("L", &t, l.at(k, k), &t, &info, 1);
  }

  static void trsm(const Tiles& l, int i, int k) {
    const int t = l.tile();
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, t, t, 1.0,
                l.at(k, k), t, l.at(i, k), t);
  }

  static void update(const Tiles& l, int i, int j, int k) {
    const int t = l.tile();
    if (i == j) {
      cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, t, t, -1.0, l.at(i, k), t, 1.0,
                  l.at(i, i), t);
    } else {
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, t, t, t, -1.0, l.at(i, k), t, l.at(j, k),
                  t, 1.0, l.at(i, j), t);
    }
  }

  Tiles a_, l_;
  TaskGraph graph_;
  std::vector<int> last_writer_;  // of each tile, while the graph is built
};

}  // namespace

int main(int argc, char** argv) {
  return nested_main(argc, argv, 3072, [](int size, int tile) -> std::unique_ptr<NestedProblem> {
    return std::make_unique<Cholesky>(size, tile);
  });
}
