// Blocked matrix product C = A B (USF, Listing 2): one task for each C[i][j] += A[i][k] B[k][j],
// in the order of k for each tile of C.
#include <cblas.h>

#include "nested.h"
#include "tiles.h"

namespace {

class Matmul final : public NestedProblem {
 public:
  Matmul(int size, int tile) : a_(size, tile), b_(size, tile), c_(size, tile) {
    for (int j = 0; j < size; ++j) {
      for (int i = 0; i < size; ++i) {
        a_.element(i, j) = element_value(i, j);
        b_.element(i, j) = element_value(j + 1000003, i);
      }
    }
    const int n = c_.blocks();
    std::vector<int> previous(n * n, -1);
    for (int k = 0; k < n; ++k) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          const int task = graph_.add([=, this] { multiply(c_, i, j, k); });
          int& last = previous[i * n + j];
          if (last >= 0) graph_.order(last, task);
          last = task;
        }
      }
    }
  }

  const char* name() const override { return "matmul"; }
  double flops() const override {
    const double n = c_.blocks() * c_.tile();
    return 2 * n * n * n;
  }
  void reset() override {}  // k = 0 overwrites C
  TaskGraph& graph() override { return graph_; }
  double checksum() const override { return c_.sum(); }

  double error() override {
    const int n = c_.blocks();
    Tiles reference(n * c_.tile(), c_.tile());
    for (int k = 0; k < n; ++k) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) multiply(reference, i, j, k);
      }
    }
    return largest_difference(c_, reference);
  }

 private:
  void multiply(const Tiles& c, int i, int j, int k) const {
    const int t = c.tile();
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, t, t, t, 1.0, a_.at(i, k), t,
                b_.at(k, j), t, k == 0 ? 0.0 : 1.0, c.at(i, j), t);
  }

  Tiles a_, b_, c_;
  TaskGraph graph_;
};

}  // namespace

int main(int argc, char** argv) {
  return nested_main(argc, argv, 2048, [](int size, int tile) -> std::unique_ptr<NestedProblem> {
    return std::make_unique<Matmul>(size, tile);
  });
}
