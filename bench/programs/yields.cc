// Threads that compute for half a millisecond and yield, again and again: what others beside them
// have to wait for. Prints rounds a second.
#include <sched.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>

#include "clock.h"
#include "threads.h"

int main(int argc, char** argv) {
  int threads = 8;
  double seconds = 1;
  CLI::App app("Threads that compute for half a millisecond and yield");
  app.add_option("--threads", threads, "how many")->check(CLI::Range(1, 4096));
  app.add_option("--seconds", seconds, "how long");
  CLI11_PARSE(app, argc, argv);

  std::atomic<long> rounds{0};
  const double start = now_seconds();
  run_on_threads(threads, [&](int index) {
    constexpr int kHalfMillisecond = 500'000;
    unsigned long seed = static_cast<unsigned long>(index);
    while (now_seconds() - start < seconds) {
      seed = work(kHalfMillisecond, seed);
      rounds.fetch_add(1, std::memory_order_relaxed);
      sched_yield();
    }
  });
  const double elapsed = now_seconds() - start;
  std::printf(
      "{\"program\": \"yields\", \"threads\": %d, \"seconds\": %.4f, \"value\": %.1f, "
      "\"unit\": \"rounds/s\"}\n",
      threads, elapsed, static_cast<double>(rounds.load()) / elapsed);
  return 0;
}
