// One line an event: a trace may have millions.
#include "cli/trace_write.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace roost::cli {
namespace {

using nlohmann::ordered_json;

// Microseconds, as the format wants them, to the nanosecond.
ordered_json microseconds(Nanoseconds ns) { return static_cast<double>(ns) / 1000; }

ordered_json arguments_of(const TraceItem& item) {
  ordered_json arguments = ordered_json::object();
  for (const TraceArgument& argument : item.arguments) {
    if (argument.text.empty()) {
      arguments[argument.name] = argument.number;
    } else {
      arguments[argument.name] = argument.text;
    }
  }
  return arguments;
}

std::string line(const ordered_json& event) {
  // A program's name may be anything.
  return event.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json named(const char* what, const Track& track, const std::string& name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", track.pid},
          {"tid", track.tid},
          {"args", {{"name", name}}}};
}

}  // namespace

void write_trace(std::ostream& out, const Timeline& timeline, const TraceFacts& facts) {
  ordered_json other = {{"command", facts.command},
                        {"events overwritten", facts.lost},
                        {"threads without room", facts.without_room}};
  out << kTraceBegins << line(other).substr(1) << ",\n\"displayTimeUnit\":\"ns\",\n";
  out << "\"traceEvents\":[";
  const char* between = "\n";
  auto put = [&](const ordered_json& event) {
    out << between << line(event);
    between = ",\n";
  };
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    const Track& track = timeline.tracks[i];
    put(named("process_name", track, track.process));
    put(named("thread_name", track, track.name));
    put({{"ph", "M"},
         {"name", "thread_sort_index"},
         {"pid", track.pid},
         {"tid", track.tid},
         {"args", {{"sort_index", i}}}});
  }
  Nanoseconds start = ~Nanoseconds{0};
  for (const TraceItem& item : timeline.items) start = std::min(start, item.begin);
  for (const TraceItem& item : timeline.items) {
    const Track& track = timeline.tracks[item.track];
    ordered_json event = {{"ph", item.instant ? "i" : "X"},
                          {"cat", item.category},
                          {"name", item.name},
                          {"pid", track.pid},
                          {"tid", track.tid},
                          {"ts", microseconds(item.begin - start)}};
    if (item.instant) {
      event["s"] = "t";
    } else {
      event["dur"] = microseconds(item.end - item.begin);
    }
    if (!item.arguments.empty()) event["args"] = arguments_of(item);
    put(event);
  }
  out << "\n]}\n";
}

}  // namespace roost::cli
