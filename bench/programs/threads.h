// Starting and joining N plain pthreads that run one callable, and a little work to do.
#pragma once

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Runs body(0) .. body(n-1), each on a pthread of its own, and waits for all.
template <typename Body>
void run_on_threads(int n, Body body) {
  struct Start {
    Body* body;
    int index;
  };
  std::vector<Start> starts(n);
  std::vector<pthread_t> threads(n);
  for (int i = 0; i < n; ++i) {
    starts[i] = {&body, i};
    auto entry = [](void* argument) -> void* {
      auto* start = static_cast<Start*>(argument);
      (*start->body)(start->index);
      return nullptr;
    };
    if (pthread_create(&threads[i], nullptr, entry, &starts[i]) != 0) {
      std::fprintf(stderr, "cannot create thread %d of %d\n", i + 1, n);
      std::exit(1);
    }
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}

// A chain of `steps` dependent multiplications, about 1 ns each: work that the compiler
// can neither drop nor overlap.
inline unsigned long work(int steps, unsigned long seed) {
  for (int i = 0; i < steps; ++i) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    asm volatile("" : "+r"(seed));
  }
  return seed;
}
