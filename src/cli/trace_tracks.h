// What the two halves of build_timeline() share: tracks, and when which thread had which core.
#pragma once

#include <map>
#include <utility>

#include "cli/trace_timeline.h"

namespace roost::cli {

// Threads' numbers end below: these are of tracks that are no threads.
inline constexpr int kFirstMadeUpId = 5'000'000;

class Tracks {
 public:
  explicit Tracks(Timeline& timeline) : timeline_(timeline) {}

  unsigned of_core(const std::string& instance, CoreIndex core);
  unsigned of_thread(const ThreadTrace& thread);
  // A new one; shown below the thread's.
  unsigned beside_thread(const ThreadTrace& thread, const std::string& name);

  void slice(unsigned track, const char* category, std::string name, Nanoseconds begin,
             Nanoseconds end, std::vector<TraceArgument> arguments = {}) {
    timeline_.items.push_back(
        {track, begin, end, false, category, std::move(name), std::move(arguments)});
  }
  void instant(unsigned track, const char* category, std::string name, Nanoseconds at,
               std::vector<TraceArgument> arguments = {}) {
    timeline_.items.push_back(
        {track, at, at, true, category, std::move(name), std::move(arguments)});
  }

 private:
  unsigned add(Track track);

  Timeline& timeline_;
  std::map<std::pair<std::string, CoreIndex>, unsigned> cores_;
  std::map<std::string, int> instances_;
  std::map<std::pair<int, int>, unsigned> threads_;
  int next_id_ = kFirstMadeUpId;
};

// A thread had the core from begin to end.
struct Ran {
  Nanoseconds begin;
  Nanoseconds end;
  CoreIndex core;
};
using RanByThread = std::map<std::pair<int, int>, std::vector<Ran>>;  // by pid and tid, in order

// When what is open at the end of a process's events ends.
class Endings {
 public:
  Endings(const Rings&, Nanoseconds end, const std::function<bool(int)>& alive);
  Nanoseconds of(int pid) const;

 private:
  std::map<int, Nanoseconds> by_pid_;
};

// Tracks of cores and threads (cli/trace_schedule.cc), and of OpenMP (cli/trace_openmp.cc).
RanByThread add_schedule(Tracks&, const Rings&, const Endings&);
void add_openmp(Tracks&, const Rings&, const Endings&, const RanByThread&);

}  // namespace roost::cli
