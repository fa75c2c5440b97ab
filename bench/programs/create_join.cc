// Thread creation: pthread_create and pthread_join of an empty thread, again and again.
// Prints threads a second.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "clock.h"
#include "threads.h"

int main(int argc, char** argv) {
  int at_once = 1;
  double seconds = 1;
  CLI::App app("Thread creation: create and join empty threads");
  app.add_option("--at-once", at_once, "threads created before the first is joined")
      ->check(CLI::Range(1, 4096));
  app.add_option("--seconds", seconds, "measure for at least so long");
  CLI11_PARSE(app, argc, argv);

  run_on_threads(at_once, [](int) {});
  long threads = 0;
  const double start = now_seconds();
  double elapsed = 0;
  do {
    run_on_threads(at_once, [](int) {});
    threads += at_once;
    elapsed = now_seconds() - start;
  } while (elapsed < seconds);
  std::printf(
      "{\"program\": \"create_join\", \"at_once\": %d, \"seconds\": %.4f, "
      "\"value\": %.1f, \"unit\": \"threads/s\"}\n",
      at_once, elapsed, static_cast<double>(threads) / elapsed);
  return 0;
}
