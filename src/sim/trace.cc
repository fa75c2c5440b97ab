// Chrome's trace event format: complete events ("X"), counters ("C") and names ("M").
#include "sim/trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/toml_reader.h"

namespace roost::sim {
namespace {

// Microseconds with three decimals, without a detour through floating point.
std::string micro(Nanoseconds time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace

TraceFile::TraceFile(const std::string& path) : file_(std::fopen(path.c_str(), "w")) {
  if (!file_) throw InputError(path + ": cannot be written");
  fmt::print(file_, "{}", kTraceBegins);
}

TraceFile::~TraceFile() {
  fmt::print(file_, "\n]}}\n");
  std::fclose(file_);
}

void TraceFile::separate() {
  fmt::print(file_, "{}\n", first_ ? "" : ",");
  first_ = false;
}

void TraceFile::begin_run(const std::string& title, CoreIndex n_cores) {
  ++run_;
  separate();
  fmt::print(file_, R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", run_,
             quoted(title));
  for (CoreIndex core = 0; core < n_cores; ++core) {
    separate();
    fmt::print(file_,
               R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"core {}"}}}})",
               run_, core + 1, core);
  }
}

void TraceFile::slice(CoreIndex core, const std::string& name, Nanoseconds begin, Nanoseconds end) {
  separate();
  fmt::print(file_, R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{}}})", quoted(name),
             run_, core + 1, micro(begin), micro(end - begin));
}

void TraceFile::ready_threads(Nanoseconds at, unsigned count) {
  separate();
  fmt::print(file_, R"({{"ph":"C","name":"ready threads","pid":{},"ts":{},"args":{{"n":{}}}}})",
             run_, micro(at), count);
}

Tracer::Tracer(TraceFile& file, const std::string& title, CoreIndex n_cores)
    : file_(file), cores_(n_cores) {
  file_.begin_run(title, n_cores);
}

void Tracer::at_rest() {
  if (ready_ == shown_) return;
  shown_ = ready_;
  file_.ready_threads(now_, ready_);
}

void Tracer::started(ThreadIndex thread, ProcessIndex process) {
  if (thread >= process_.size()) process_.resize(thread + 1);
  process_[thread] = process;
}

void Tracer::dispatched(CoreIndex core, ThreadIndex thread) {
  --ready_;
  cores_[core] = {thread, now_};
}

void Tracer::taken_off(CoreIndex core, ThreadIndex thread) {
  file_.slice(core, fmt::format("process {} thread {}", process_[thread], thread),
              cores_[core].since, now_);
}

}  // namespace roost::sim
