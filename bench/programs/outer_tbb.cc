// Outer runtime: oneTBB, one arena and one task group.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "outer.h"

namespace {

class Tbb final : public OuterRuntime {
 public:
  explicit Tbb(int width)
      : workers_(tbb::global_control::max_allowed_parallelism, width), arena_(width) {}

  void run(TaskGraph& graph) override {
    arena_.execute([&] {
      tbb::task_group group;
      for (int task : graph.start()) spawn(group, graph, task);
      group.wait();
    });
  }

 private:
  static void spawn(tbb::task_group& group, TaskGraph& graph, int task) {
    group.run(
        [&group, &graph, task] { graph.run(task, [&](int next) { spawn(group, graph, next); }); });
  }

  tbb::global_control workers_;  // lets the arena have more threads than there are cores
  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<OuterRuntime> make_outer_runtime(int width) { return std::make_unique<Tbb>(width); }

const char* outer_runtime_name() { return "tbb"; }
