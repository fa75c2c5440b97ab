// Which thread had which core, and why not: the tracks of cores and threads.
//
// A thread writes that it leaves a core before it gives the core away, and that it has one after it
// was granted it; so slices of one core lie apart in order of time, whoever wrote them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/trace_tracks.h"

namespace roost::cli {
namespace {

using trace::Event;
using trace::Kind;

std::string unpacked(const Event& event) {
  std::string name;
  for (std::uint64_t word : {event.a, event.b})
    for (unsigned i = 0; i < 8 && (word >> (8 * i) & 0xff); ++i)
      name += static_cast<char>(word >> (8 * i) & 0xff);
  return name;
}

class Schedule {
 public:
  Schedule(Tracks& tracks, const Rings& rings, const Endings& endings)
      : tracks_(tracks), rings_(rings), endings_(endings) {}

  RanByThread replay();

 private:
  struct Waits {
    std::string what;
    Nanoseconds since;
  };
  struct Has {
    CoreIndex core;
    Nanoseconds since;
    std::optional<Nanoseconds> granted;
    int granted_by;
  };
  struct Thread {
    const ThreadTrace* trace = nullptr;
    std::optional<Has> has;
    std::optional<Waits> waits;
    bool woken_early = false;  // before it had written that it waits
    std::optional<Nanoseconds> granted;
    int granted_by = 0;
  };

  void of_itself(Thread& thread, const Event& event);
  void of_others(const ThreadTrace& writer, const Event& event);
  void begins_to_run(Thread& thread, const Event& event);
  void leaves(Thread& thread, Nanoseconds at, const char* why, bool cut = false);
  void waits(Thread& thread, std::string what, Nanoseconds since);
  void stops_waiting(Thread& thread, Nanoseconds at, bool cut = false);
  void close_open();

  Tracks& tracks_;
  const Rings& rings_;
  const Endings& endings_;
  std::map<int, Thread> threads_;  // by kernel ID
  std::map<std::pair<std::string, CoreIndex>, Nanoseconds> idle_;
  std::map<std::pair<std::string, CoreIndex>, Nanoseconds> last_begin_;
  RanByThread ran_;
};

RanByThread Schedule::replay() {
  struct At {
    Nanoseconds time;
    unsigned thread;
    unsigned event;
  };
  std::vector<At> order;
  for (unsigned t = 0; t < rings_.threads.size(); ++t)
    for (unsigned e = 0; e < rings_.threads[t].events.size(); ++e)
      if (rings_.threads[t].events[e].kind < Kind::openmp)
        order.push_back({rings_.threads[t].events[e].time, t, e});
  // Of one thread they are in order already, but for those of its signal handlers.
  std::stable_sort(order.begin(), order.end(),
                   [](const At& a, const At& b) { return a.time < b.time; });
  for (const At& at : order) {
    const ThreadTrace& writer = rings_.threads[at.thread];
    const Event& event = writer.events[at.event];
    if (event.kind < Kind::ready) {
      Thread& thread = threads_[writer.tid];
      thread.trace = &writer;
      of_itself(thread, event);
    } else if (event.kind == Kind::idle) {
      idle_.try_emplace({writer.instance, event.core}, event.time);
    } else {
      of_others(writer, event);
    }
  }
  close_open();
  return std::move(ran_);
}

void Schedule::of_itself(Thread& thread, const Event& event) {
  switch (event.kind) {
    case Kind::attached:
      waits(thread, "ready", event.time);
      break;
    case Kind::running:
      begins_to_run(thread, event);
      break;
    case Kind::blocked: {
      std::string in = unpacked(event);
      leaves(thread, event.time, "blocked");
      waits(thread,
            thread.woken_early ? "ready"
            : in.empty()       ? "blocked"
                               : "blocked in " + in,
            event.time);
      break;
    }
    case Kind::in_kernel: {
      std::string in = unpacked(event);
      leaves(thread, event.time, "a call in the kernel");
      waits(thread, in.empty() ? "in the kernel" : "in the kernel: " + in, event.time);
      break;
    }
    case Kind::yielded:
      leaves(thread, event.time, "yielded");
      waits(thread, "ready", event.time);
      break;
    case Kind::ended:
      leaves(thread, event.time, "ended");
      stops_waiting(thread, event.time);
      break;
    case Kind::beside:
      waits(thread, "runs beside others", event.time);
      break;
    case Kind::nudged:
      tracks_.instant(tracks_.of_thread(*thread.trace), "schedule", "asked whether it waits",
                      event.time);
      break;
    default:
      break;
  }
  thread.woken_early = false;
}

void Schedule::begins_to_run(Thread& thread, const Event& event) {
  if (thread.has) leaves(thread, event.time, "unknown", true);
  stops_waiting(thread, event.time);
  const ThreadTrace& trace = *thread.trace;
  std::pair core{trace.instance, event.core};
  if (auto idle = idle_.find(core); idle != idle_.end()) {
    tracks_.slice(tracks_.of_core(core.first, core.second), "idle", "idle", idle->second,
                  event.time);
    idle_.erase(idle);
  }
  thread.has = Has{event.core, event.time, thread.granted, thread.granted_by};
  thread.granted.reset();
  last_begin_[core] = event.time;
}

void Schedule::of_others(const ThreadTrace& writer, const Event& event) {
  auto found = threads_.find(static_cast<int>(event.a));
  if (event.kind == Kind::granted) {
    if (auto idle = idle_.find({writer.instance, event.core}); idle != idle_.end()) {
      tracks_.slice(tracks_.of_core(writer.instance, event.core), "idle", "idle", idle->second,
                    event.time);
      idle_.erase(idle);
    }
  }
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  switch (event.kind) {
    case Kind::ready:
      if (thread.has) {
        thread.woken_early = true;
      } else {
        waits(thread, "ready", event.time);
      }
      break;
    case Kind::granted:
      thread.granted = event.time;
      thread.granted_by = writer.tid;
      break;
    case Kind::rescued:
    case Kind::shared: {
      if (!thread.has || thread.has->core != event.core) break;
      bool rescued = event.kind == Kind::rescued;
      leaves(thread, event.time, rescued ? "slept unseen" : "ran for too long");
      waits(thread, rescued ? "asleep, unseen" : "runs beside others", event.time);
      break;
    }
    default:
      break;
  }
}

void Schedule::leaves(Thread& thread, Nanoseconds at, const char* why, bool cut) {
  if (!thread.has) return;
  const ThreadTrace& trace = *thread.trace;
  const Has& has = *thread.has;
  std::vector<TraceArgument> arguments = {{"pid", static_cast<std::uint64_t>(trace.pid)},
                                          {"tid", static_cast<std::uint64_t>(trace.tid)},
                                          {"core", std::uint64_t{has.core}},
                                          {"end", std::string(why)}};
  if (has.granted && *has.granted <= has.since) {
    arguments.push_back({"granted by", static_cast<std::uint64_t>(has.granted_by)});
    arguments.push_back({"ns from grant", has.since - *has.granted});
  }
  if (cut) arguments.push_back({"cut", std::uint64_t{1}});
  tracks_.slice(tracks_.of_core(trace.instance, has.core), "thread",
                fmt::format("{} {}", trace.program, trace.tid), has.since, at, arguments);
  tracks_.slice(tracks_.of_thread(trace), "schedule", fmt::format("core {}", has.core), has.since,
                at, arguments);
  ran_[{trace.pid, trace.tid}].push_back({has.since, at, has.core});
  thread.has.reset();
}

void Schedule::waits(Thread& thread, std::string what, Nanoseconds since) {
  if (thread.waits && thread.waits->what == what) return;
  stops_waiting(thread, since);
  thread.waits = Waits{std::move(what), since};
}

void Schedule::stops_waiting(Thread& thread, Nanoseconds at, bool cut) {
  if (!thread.waits) return;
  std::vector<TraceArgument> arguments;
  if (cut) arguments.push_back({"cut", std::uint64_t{1}});
  tracks_.slice(tracks_.of_thread(*thread.trace), "schedule", thread.waits->what,
                thread.waits->since, std::max(at, thread.waits->since), std::move(arguments));
  thread.waits.reset();
}

void Schedule::close_open() {
  for (auto& [tid, thread] : threads_) {
    if (!thread.trace) continue;
    Nanoseconds end = endings_.of(thread.trace->pid);
    if (thread.has) {
      // A core that went on to another thread was taken from one that died.
      Nanoseconds next = last_begin_[{thread.trace->instance, thread.has->core}];
      if (next > thread.has->since) end = std::min(end, next);
      leaves(thread, std::max(end, thread.has->since), "unknown", true);
    }
    stops_waiting(thread, end, true);
  }
}

}  // namespace

RanByThread add_schedule(Tracks& tracks, const Rings& rings, const Endings& endings) {
  return Schedule(tracks, rings, endings).replay();
}

}  // namespace roost::cli
