// Writes what cores did as a trace in Chrome's JSON format, which Perfetto opens (ui.perfetto.dev).
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "sim/observer.h"
#include "sim/program.h"

namespace roost::sim {

class World;

// How the file begins, by which an earlier one is known.
inline constexpr const char* kTraceBegins = R"({"displayTimeUnit":"ns","traceEvents":[)";

// One process of the trace for each run; in it a row for each core, a slice for each time a thread
// had it, and a counter of ready threads. Times are exact, in thousandths of a microsecond.
class TraceFile {
 public:
  // InputError if the file cannot be written.
  explicit TraceFile(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;

  // The rows of a run that begins now.
  void begin_run(const std::string& title, CoreIndex n_cores);
  void slice(CoreIndex core, const std::string& name, Nanoseconds begin, Nanoseconds end);
  void ready_threads(Nanoseconds at, unsigned count);

 private:
  void separate();
  std::FILE* file_;
  unsigned run_ = 0;
  bool first_ = true;
};

// Watches one run.
class Tracer : public Observer {
 public:
  Tracer(TraceFile& file, const std::string& title, CoreIndex n_cores);
  void time(Nanoseconds now) override { now_ = now; }
  void at_rest() override;
  void started(ThreadIndex, ProcessIndex) override;
  void ready(ThreadIndex) override { ++ready_; }
  void dispatched(CoreIndex, ThreadIndex) override;
  void taken_off(CoreIndex, ThreadIndex) override;

 private:
  struct Running {
    ThreadIndex thread = kNoThread;
    Nanoseconds since = 0;
  };
  TraceFile& file_;
  Nanoseconds now_ = 0;
  std::vector<Running> cores_;
  std::vector<ProcessIndex> process_;
  unsigned ready_ = 0;
  unsigned shown_ = 0;
};

}  // namespace roost::sim
