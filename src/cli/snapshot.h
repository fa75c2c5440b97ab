// What an instance looks like at a moment: the data behind `roost ps`.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "segment/segment.h"
#include "topo/cpu_set.h"

namespace roost::cli {

// In the order of State, without `free`.
inline constexpr const char* kThreadStates[] = {"running", "ready", "blocked", "external",
                                                "detached"};

struct Activity {
  std::array<std::uint64_t, std::size(kThreadStates)> threads{};
  std::array<std::uint64_t, kCounters> counters{};  // as kCounterList

  std::uint64_t all_threads() const;
  Activity& operator+=(const Activity&);
};

struct ProcessSnapshot {
  int pid = 0;
  std::string command;
  Activity activity;
  unsigned loops = 0;  // wait loops that are rewritten now
};

struct InstanceSnapshot {
  std::string name;
  std::string policy;
  std::string pinning;                                          // core, node or none
  std::vector<std::pair<std::string, std::string>> parameters;  // with units
  CpuSet cpus;
  bool leaves_loops = false;  // by `roost spin restore`
  CpuSet contended;           // those of them that are left to other programs for now
  std::vector<ProcessSnapshot> processes;
  Activity total;               // with processes that have ended
  std::uint64_t reclaimed = 0;  // processes that died without leaving
  std::uint64_t unmanaged = 0;  // programs that could not be managed
  std::string last_unmanaged;
};

// Reads a segment while its processes go on; counts may be some steps apart.
InstanceSnapshot take_snapshot(const Segment&);

}  // namespace roost::cli
