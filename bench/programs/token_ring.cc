// A token round a ring of threads: each waits for it at a semaphore of its own, and passes it on.
// One of them runs at a time. Prints hand-offs a second.
#include <semaphore.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "clock.h"
#include "threads.h"

int main(int argc, char** argv) {
  int threads = 8;
  double seconds = 1;
  CLI::App app("Token ring: threads wake each other in turn");
  app.add_option("--threads", threads, "threads")->check(CLI::Range(2, 1024));
  app.add_option("--seconds", seconds, "how long");
  CLI11_PARSE(app, argc, argv);

  std::vector<sem_t> places(static_cast<std::size_t>(threads));
  for (sem_t& place : places) sem_init(&place, 0, 0);
  sem_post(&places[0]);
  long rounds = 0;
  bool ended = false;
  const double start = now_seconds();
  run_on_threads(threads, [&](int index) {
    auto own = static_cast<std::size_t>(index), next = (own + 1) % places.size();
    for (bool last = false; !last;) {
      while (sem_wait(&places[own]) != 0) {
      }
      if (index == 0) {
        ++rounds;
        ended = now_seconds() >= start + seconds;
      }
      last = ended;
      sem_post(&places[next]);
    }
  });
  const double elapsed = now_seconds() - start;
  std::printf(
      "{\"program\": \"token_ring\", \"threads\": %d, \"seconds\": %.4f, \"value\": %.1f, "
      "\"unit\": \"hand-offs/s\"}\n",
      threads, elapsed, static_cast<double>(rounds) * threads / elapsed);
  return 0;
}
