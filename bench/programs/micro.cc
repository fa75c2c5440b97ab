// Single operations, in nanoseconds: a block and resume between two threads, a yield to a
// ready thread, and primitives that nobody contends for.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "clock.h"
#include "pingpong.h"
#include "threads.h"

namespace {

// Nanoseconds a call of `operation`, over at least `seconds`.
template <typename Operation>
double time_each(double seconds, Operation operation) {
  constexpr int kBatch = 1000;
  const double start = now_seconds();
  double elapsed = 0;
  long calls = 0;
  do {
    for (int i = 0; i < kBatch; ++i) operation();
    calls += kBatch;
    elapsed = now_seconds() - start;
  } while (elapsed < seconds);
  return elapsed / static_cast<double>(calls) * 1e9;
}

// Nanoseconds from one thread's running to the other's: half a round trip.
template <typename Pair>
double pingpong(double seconds) {
  Pair pair;
  std::atomic<bool> stop{false};
  double round_trip = 0;
  run_on_threads(2, [&](int side) {
    if (side == 0) {
      round_trip = time_each(seconds, [&] {
        pair.wake(1);
        pair.wait(0);
      });
      stop = true;
      pair.wake(1);
    } else {
      while (true) {
        pair.wait(1);
        if (stop) return;
        pair.wake(0);
      }
    }
  });
  return round_trip / 2;
}

double mutex_pair(double seconds) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  return time_each(seconds, [&] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  });
}

double condition_signal(double seconds) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  return time_each(seconds, [&] { pthread_cond_signal(&condition); });
}

double semaphore_pair(double seconds) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  return time_each(seconds, [&] {
    sem_post(&semaphore);
    sem_wait(&semaphore);
  });
}

const std::map<std::string, double (*)(double)> kOperations = {
    {"futex-pingpong", pingpong<FutexPair>},
    {"cond-pingpong", pingpong<ConditionPair>},
    {"sem-pingpong", pingpong<SemaphorePair>},
    {"yield-pingpong", pingpong<YieldPair>},
    {"mutex", mutex_pair},
    {"cond-signal", condition_signal},
    {"sem", semaphore_pair},
};

}  // namespace

int main(int argc, char** argv) {
  std::string operation;
  double seconds = 0.5;
  std::vector<std::string> names;
  for (const auto& [name, run] : kOperations) names.push_back(name);
  CLI::App app("Costs of single operations in ns");
  app.add_option("--op", operation, "what to measure")->required()->check(CLI::IsMember(names));
  app.add_option("--seconds", seconds, "measure for at least so long");
  CLI11_PARSE(app, argc, argv);

  std::printf("{\"program\": \"micro\", \"op\": \"%s\", \"value\": %.2f, \"unit\": \"ns\"}\n",
              operation.c_str(), kOperations.at(operation)(seconds));
  return 0;
}
