// Writes a timeline as Chrome's JSON trace events, which ui.perfetto.dev opens.
#pragma once

#include <ostream>

#include "cli/trace_timeline.h"

namespace roost::cli {

struct TraceFacts {
  std::string command;
  std::uint64_t lost = 0;  // events that were overwritten
  unsigned without_room = 0;
};

// How every file begins that Roost writes, so that it may be replaced by the next.
inline constexpr const char* kTraceBegins = R"({"otherData":{"roost trace":1,)";

void write_trace(std::ostream&, const Timeline&, const TraceFacts&);

}  // namespace roost::cli
