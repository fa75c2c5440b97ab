// The outer runtime of a nested program. One implementation is linked into each program.
#pragma once

#include <memory>

#include "task_graph.h"

class OuterRuntime {
 public:
  virtual ~OuterRuntime() = default;
  // Runs the whole graph on the runtime's threads and returns when all tasks have ended.
  virtual void run(TaskGraph& graph) = 0;
};

// `width`: threads of the runtime, the caller's included where the runtime uses it.
std::unique_ptr<OuterRuntime> make_outer_runtime(int width);

// As shown in results: "libgomp", "libomp", "tbb", "threads".
const char* outer_runtime_name();
