// Outer runtime: OpenMP tasks. Compiled by g++ it runs on libgomp, by clang++ on libomp.
#include "outer.h"

namespace {

void spawn(TaskGraph& graph, int task) {
#pragma omp task firstprivate(task) shared(graph)
  graph.run(task, [&graph](int next) { spawn(graph, next); });
}

class OpenMp final : public OuterRuntime {
 public:
  explicit OpenMp(int width) : width_(width) {}

  void run(TaskGraph& graph) override {
    const std::vector<int> ready = graph.start();
    // The barrier at the end of the region waits for every task, those of tasks included.
#pragma omp parallel num_threads(width_)
#pragma omp single nowait
    for (int task : ready) spawn(graph, task);
  }

 private:
  int width_;
};

}  // namespace

std::unique_ptr<OuterRuntime> make_outer_runtime(int width) {
  return std::make_unique<OpenMp>(width);
}

const char* outer_runtime_name() {
#ifdef __clang__
  return "libomp";
#else
  return "libgomp";
#endif
}
