// Reads the rings of a recorded program (trace/ring_file.h), while it writes or after it died.
#pragma once

#include <string>
#include <vector>

#include "trace/event.h"

namespace roost::cli {

struct ThreadTrace {
  int pid = 0;
  int tid = 0;
  std::string program;
  std::string instance;
  std::vector<trace::Event> events;  // oldest first
  std::uint64_t lost = 0;            // earlier ones, overwritten; and unfinished ones
};

struct Rings {
  std::vector<ThreadTrace> threads;
  unsigned without_room = 0;  // threads for whose rings there was none
};

// All rings of a folder. Files that are no rings are passed over.
Rings read_rings(const std::string& folder);

}  // namespace roost::cli
