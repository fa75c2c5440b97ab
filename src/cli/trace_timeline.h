// What the events of all threads mean: slices of time on tracks.
//
// There is a track for each core (who has it, and which member of which region runs there), one for
// each thread (whether it runs, waits or is READY) and one for each stack of OpenMP tasks (regions,
// tasks, waits, mutexes). Slices of one track nest, or lie apart.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/trace_rings.h"

namespace roost::cli {

struct TraceArgument {
  TraceArgument(const char* of, std::uint64_t value) : name(of), number(value) {}
  TraceArgument(const char* of, std::string value) : name(of), text(std::move(value)) {}
  const char* name;
  std::uint64_t number = 0;
  std::string text;  // empty: it is the number
};

struct Track {
  int pid;  // as the viewer groups them: of a process, or of no process for the cores
  int tid;
  std::string process;
  std::string name;
};

struct TraceItem {
  unsigned track;
  Nanoseconds begin;
  Nanoseconds end;
  bool instant;
  const char* category;
  std::string name;
  std::vector<TraceArgument> arguments;
};

struct Timeline {
  std::vector<Track> tracks;
  std::vector<TraceItem> items;  // of each track in order, the outer one of two that begin at once
                                 // first
};

// `end`: when the rings were read. A slice whose end is not known goes on until then if its process
// is `alive`, else until its process's last event; it has the argument "cut".
Timeline build_timeline(const Rings&, Nanoseconds end, const std::function<bool(int pid)>& alive);

}  // namespace roost::cli
