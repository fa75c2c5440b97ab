// Small tools of measurements: threads on a CPU of their own, loops by the clock.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

#include "os/sys.h"
#include "topo/cpu_set.h"

namespace roost::cli {

// The calling thread stays on `cpu`.
inline void pin(unsigned cpu) {
  CpuSet set;
  set.set(cpu);
  os::set_affinity(0, set.words, sizeof set.words);
}

// What `body` returns, on a thread of its own that stays on `cpu`.
template <class Body>
auto on_cpu(unsigned cpu, Body&& body) {
  decltype(body()) result{};
  std::thread thread([&] {
    pin(cpu);
    result = body();
  });
  thread.join();
  return result;
}

inline void spin_for(Nanoseconds duration) {
  for (Nanoseconds begin = os::now(); duration && os::now() - begin < duration;) {
  }
}

inline double median(std::vector<double>& values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Nanoseconds a call of `operation`: the median of batches that together take `duration`, so that
// what interrupts a few of them does not count.
template <class Operation>
double time_each(Nanoseconds duration, Operation&& operation) {
  std::vector<double> batches;
  std::uint64_t calls = 1;
  for (Nanoseconds begin = os::now(), now = begin; now - begin < duration || batches.empty();) {
    Nanoseconds start = now;
    for (std::uint64_t i = 0; i < calls; ++i) operation();
    now = os::now();
    if (now - start < duration / 100) {  // too short for the clock
      calls *= 2;
      batches.clear();
    } else {
      batches.push_back(static_cast<double>(now - start) / static_cast<double>(calls));
    }
  }
  return median(batches);
}

}  // namespace roost::cli
