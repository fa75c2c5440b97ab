// The clock of all bench programs.
#pragma once

#include <ctime>

// Seconds since some fixed point, never going back.
inline double now_seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
