// Main program of the nested cases. See nested.h.
#include "nested.h"

#include <cblas.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "clock.h"
#include "outer.h"

namespace {

constexpr int kPthreadBuild = 1;  // openblas_get_parallel(): 0 sequential, 2 OpenMP
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
  app.add_option("--inner", o.inner, "threads of OpenBLAS; without it, its own default")
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

void set_inner_width(int threads) { openblas_set_num_threads(threads); }

int nested_main(int argc, char** argv, int default_size, MakeProblem make_problem) {
  Options o;
  o.size = default_size;
  CLI::App app("A tiled problem: tasks of an outer runtime that call threaded OpenBLAS");
  try {
    read_options(app, o, argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (openblas_get_parallel() != kPthreadBuild) {
    std::fprintf(stderr, "%s: the OpenBLAS found is not the pthread build: %s\n", argv[0],
                 openblas_get_config());
    return 2;
  }

  if (o.inner > 0) set_inner_width(o.inner);
  const int inner = openblas_get_num_threads();
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
      "{\"program\": \"%s\", \"outer_runtime\": \"%s\", \"outer\": %d, \"inner\": %d, "
      "\"size\": %d, \"tile\": %d, \"runs\": %d, \"seconds\": %.4f, "
      "\"value\": %.3f, \"unit\": \"GFLOP/s\", \"checksum\": %.12g",
      problem->name(), outer_runtime_name(), o.outer, inner, o.size, o.tile, runs, seconds,
      problem->flops() * runs / seconds * 1e-9, checksum);
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
