// Mutex convoy: N threads take one mutex around a little work, again and again. A holder that
// loses its core stalls everybody. Prints critical sections a second.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "clock.h"
#include "threads.h"

namespace {

constexpr int kSectionsBetweenClockReads = 16;

}  // namespace

int main(int argc, char** argv) {
  int threads = 8;
  int inside = 1000;
  int outside = 1000;
  double seconds = 1;
  CLI::App app("Mutex convoy: threads lock and unlock one mutex around short work");
  app.add_option("--threads", threads, "threads")->check(CLI::Range(1, 4096));
  app.add_option("--inside", inside, "steps (about 1 ns) with the mutex held");
  app.add_option("--outside", outside, "steps without it");
  app.add_option("--seconds", seconds, "how long");
  CLI11_PARSE(app, argc, argv);

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  long sections = 0;
  unsigned long shared_value = 1;
  const double start = now_seconds();
  const double deadline = start + seconds;
  run_on_threads(threads, [&](int index) {
    unsigned long own_value = index;
    // Each thread watches the clock itself: no extra thread that would have to be scheduled.
    while (now_seconds() < deadline) {
      for (int i = 0; i < kSectionsBetweenClockReads; ++i) {
        pthread_mutex_lock(&mutex);
        shared_value = work(inside, shared_value);
        ++sections;
        pthread_mutex_unlock(&mutex);
        own_value = work(outside, own_value);
      }
    }
  });
  const double elapsed = now_seconds() - start;
  std::printf(
      "{\"program\": \"convoy\", \"threads\": %d, \"seconds\": %.4f, \"value\": %.1f, "
      "\"unit\": \"sections/s\"}\n",
      threads, elapsed, static_cast<double>(sections) / elapsed);
  return 0;
}
