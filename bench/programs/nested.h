// What the nested programs share: a tiled problem, its options, the timed loop, the result line.
#pragma once

#include <memory>

#include "task_graph.h"

// A problem cut into tiles whose tasks call threaded BLAS.
class NestedProblem {
 public:
  virtual ~NestedProblem() = default;
  virtual const char* name() const = 0;
  virtual double flops() const = 0;
  // Puts the input back as it was before the first run. Not timed.
  virtual void reset() = 0;
  // The tasks of one run of the whole problem.
  virtual TaskGraph& graph() = 0;
  virtual double checksum() const = 0;
  // Largest relative difference of the last result from a sequential run.
  virtual double error() = 0;
};

// Reads the options, runs whole problems and prints one JSON line. Returns the exit code:
// 0, 1 for a wrong result, 2 for a wrong option.
using MakeProblem = std::unique_ptr<NestedProblem> (*)(int size, int tile);
int nested_main(int argc, char** argv, int default_size, MakeProblem make_problem);
