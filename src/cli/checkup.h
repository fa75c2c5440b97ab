// The checks behind `roost doctor`: what of this machine Roost needs, has, or must do without.
#pragma once

#include <string>
#include <vector>

namespace roost::cli {

enum class Level {
  ok,
  warn,  // Roost works, but less well, or something wants attention
  fail,  // Roost cannot work
};

struct Finding {
  Level level;
  std::string topic;   // one or two words
  std::string text;    // what is so
  std::string advice;  // what to do about it; empty if all is well
};

// In the order in which they are shown.
std::vector<Finding> examine_system();     // kernel, C library, what may be called
std::vector<Finding> examine_cores();      // topology, affinity, quota
std::vector<Finding> examine_instances();  // /dev/shm and what is in it, the library

}  // namespace roost::cli
