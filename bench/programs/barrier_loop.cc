// Barrier loop: N threads do a little work, meet at one pthread_barrier_t, and start again.
// Prints arrivals a second (rounds times threads), so that thread counts can be compared.
#include <CLI/CLI.hpp>
#include <atomic>
#include <climits>
#include <cstdio>

#include "clock.h"
#include "threads.h"

int main(int argc, char** argv) {
  int threads = 8;
  int steps = 2000;
  double seconds = 1;
  CLI::App app("Barrier loop: threads meet at one barrier again and again");
  app.add_option("--threads", threads, "threads")->check(CLI::Range(1, 4096));
  app.add_option("--work", steps, "steps (about 1 ns) of each thread between two barriers");
  app.add_option("--seconds", seconds, "how long");
  CLI11_PARSE(app, argc, argv);

  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, threads);
  // One thread of a round ends the loop after the next round: that round's barrier makes the
  // decision visible to everybody before anybody acts on it.
  std::atomic<int> last_round{INT_MAX};
  const double start = now_seconds();
  const double deadline = start + seconds;
  run_on_threads(threads, [&](int index) {
    unsigned long value = index;
    for (int round = 0; round <= last_round.load(); ++round) {
      value = work(steps, value);
      if (pthread_barrier_wait(&barrier) != PTHREAD_BARRIER_SERIAL_THREAD) continue;
      if (last_round.load() == INT_MAX && now_seconds() >= deadline) last_round = round + 1;
    }
  });
  const double elapsed = now_seconds() - start;
  const double arrivals = (last_round.load() + 1.0) * threads;
  std::printf(
      "{\"program\": \"barrier_loop\", \"threads\": %d, \"seconds\": %.4f, "
      "\"value\": %.1f, \"unit\": \"arrivals/s\"}\n",
      threads, elapsed, arrivals / elapsed);
  return 0;
}
