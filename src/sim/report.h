// Tables and JSON of what simulations found.
#pragma once

#include <string>
#include <vector>

#include "sim/simulate.h"

namespace roost::sim {

// What is compared: one policy over all seeds, medians of each figure.
struct Comparison {
  std::string scenario;
  std::string machine;
  std::string governor;
  std::string unit;
  std::vector<RunResult> runs;  // by policy, then by seed
};

// The table for people. The first policy is what the others are compared with.
std::string comparison_table(const Comparison&, const Machine&);
// How that of all runs begins, by which an earlier file is known.
inline constexpr const char* kComparisonBegins = "{\n  \"scenario\": ";
// All runs with all figures.
std::string comparison_json(const Comparison&);
// "1.234 ms"
std::string format_time(Nanoseconds);

}  // namespace roost::sim
