// Tracks, their order, and the order of what is on them.
#include "cli/trace_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/trace_tracks.h"

namespace roost::cli {

unsigned Tracks::add(Track track) {
  timeline_.tracks.push_back(std::move(track));
  return static_cast<unsigned>(timeline_.tracks.size() - 1);
}

unsigned Tracks::of_core(const std::string& instance, CoreIndex core) {
  auto [found, made] = cores_.try_emplace({instance, core}, 0);
  if (made) {
    auto [of_instance, first] = instances_.try_emplace(instance, next_id_);
    if (first) ++next_id_;
    found->second = add({of_instance->second, next_id_++, "cores of instance " + instance,
                         fmt::format("core {}", core)});
  }
  return found->second;
}

unsigned Tracks::of_thread(const ThreadTrace& thread) {
  auto [found, made] = threads_.try_emplace({thread.pid, thread.tid}, 0);
  if (made) {
    found->second =
        add({thread.pid, thread.tid, thread.program, fmt::format("thread {}", thread.tid)});
  }
  return found->second;
}

unsigned Tracks::beside_thread(const ThreadTrace& thread, const std::string& name) {
  of_thread(thread);
  return add({thread.pid, next_id_++, thread.program, name});
}

Endings::Endings(const Rings& rings, Nanoseconds end, const std::function<bool(int)>& alive) {
  for (const ThreadTrace& thread : rings.threads) {
    Nanoseconds& last = by_pid_[thread.pid];
    if (!thread.events.empty()) last = std::max(last, thread.events.back().time);
  }
  for (auto& [pid, last] : by_pid_)
    if (alive(pid)) last = std::max(last, end);
}

Nanoseconds Endings::of(int pid) const {
  auto found = by_pid_.find(pid);
  return found == by_pid_.end() ? 0 : found->second;
}

Timeline build_timeline(const Rings& rings, Nanoseconds end,
                        const std::function<bool(int)>& alive) {
  Timeline timeline;
  Tracks tracks(timeline);
  Endings endings(rings, end, alive);
  RanByThread ran = add_schedule(tracks, rings, endings);
  add_openmp(tracks, rings, endings, ran);
  std::stable_sort(
      timeline.items.begin(), timeline.items.end(), [](const TraceItem& a, const TraceItem& b) {
        return std::tuple(a.track, a.begin, b.end) < std::tuple(b.track, b.begin, a.end);
      });
  return timeline;
}

}  // namespace roost::cli
