// Main program of the nested cases. See nested.h.
#include "nested.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "clock.h"
#include "inner.h"
#include "outer.h"

namespace {

constexpr double kTolerance = 1e-10;

struct Options {
  int outer = 1;
  int inner = 0;
  int size = 0;
  int tile = 256;
  double seconds = 1;
  bool verify = false;
};

void read_options(CLI::App& app, Options& o, int argc, char** argv) {
  app.add_option("--outer", o.outer, "threads of the outer runtime")
      ->check(CLI::Range(1, 1024))
      ->required();
  app.add_option("--inner", o.inner, "threads of the inner library; without it, its own default")
      ->check(CLI::Range(1, 64));
  app.add_option("--size", o.size, "rows of the matrix")->check(CLI::PositiveNumber);
  app.add_option("--tile", o.tile, "rows of a tile")->check(CLI::PositiveNumber);
  app.add_option("--seconds", o.seconds, "measure for at least so long");
  app.add_flag("--verify", o.verify, "compare with a sequential run");
  app.parse(argc, argv);
  if (o.size % o.tile != 0) {
    throw CLI::ValidationError("--size must be a multiple of --tile");
  }
}

}  // namespace

int nested_main(int argc, char** argv, int default_size, MakeProblem make_problem) {
  Options o;
  o.size = default_size;
  CLI::App app("A tiled problem: tasks of an outer runtime that call a threaded BLAS");
  try {
    read_options(app, o, argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (const std::string problem = inner_library_problem(); !problem.empty()) {
    std::fprintf(stderr, "%s: %s\n", argv[0], problem.c_str());
    return 2;
  }

  if (o.inner > 0) set_inner_width(o.inner);
  const int inner = inner_width();
  std::unique_ptr<NestedProblem> problem = make_problem(o.size, o.tile);
  std::unique_ptr<OuterRuntime> outer = make_outer_runtime(o.outer);
  problem->reset();
  outer->run(problem->graph());  // starts all threads and touches all memory

  double seconds = 0;
  int runs = 0;
  do {
    problem->reset();
    const double start = now_seconds();
    outer->run(problem->graph());
    seconds += now_seconds() - start;
    ++runs;
  } while (seconds < o.seconds);

  const double checksum = problem->checksum();
  std::printf(
      "{\"program\": \"%s\", \"outer_runtime\": \"%s\", \"inner_library\": \"%s\", \"outer\": %d, "
      "\"inner\": %d, "
      "\"size\": %d, \"tile\": %d, \"runs\": %d, \"seconds\": %.4f, "
      "\"value\": %.3f, \"unit\": \"GFLOP/s\", \"checksum\": %.12g",
      problem->name(), outer_runtime_name(), inner_library_name(), o.outer, inner, o.size, o.tile,
      runs, seconds, problem->flops() * runs / seconds * 1e-9, checksum);
  bool right = true;
  if (o.verify) {
    set_inner_width(1);
    const double error = problem->error();
    right = error < kTolerance;
    std::printf(", \"error\": %.3g, \"verified\": %s", error, right ? "true" : "false");
  }
  std::printf("}\n");
  return right ? 0 : 1;
}
