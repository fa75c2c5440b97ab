// Regions, tasks, waits and mutexes of each OpenMP thread, from the events of OMPT that it wrote.
//
// Members of a region that share an OS thread take turns on it, so their slices do not nest; each
// implicit task has a track of its own while it lasts, and the explicit tasks that begin on it lie
// within. The task that runs is shown on the track of the core, too.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/trace_tracks.h"
#include "trace/ompt_numbers.h"

namespace roost::cli {
namespace {

using trace::Event;
using trace::Kind;

using ompt_numbers::Dispatch;
using ompt_numbers::Mutex;
using ompt_numbers::Sync;
using ompt_numbers::TaskStatus;
using ompt_numbers::Work;
using Ompt = ompt_numbers::Event;

// Names of what is in an event's detail.
const char* name_of(Sync sync) {
  switch (sync) {
    case Sync::barrier_explicit:
    case Sync::barrier_implementation:
      return "barrier";
    case Sync::taskwait:
      return "taskwait";
    case Sync::taskgroup:
      return "taskgroup";
    case Sync::reduction:
      return "reduction";
    case Sync::barrier_implicit_workshare:
      return "barrier at the end of worksharing";
    case Sync::barrier_implicit_parallel:
      return "barrier at the end of the region";
  }
  return "other";
}
const char* name_of(Work work) {
  switch (work) {
    case Work::loop:
    case Work::loop_other:
      return "loop";
    case Work::sections:
      return "sections";
    case Work::single_executor:
      return "single";
    case Work::single_other:
      return "single, other";
    case Work::distribute:
      return "distribute";
    case Work::taskloop:
      return "taskloop";
    case Work::scope:
      return "scope";
    case Work::loop_static:
      return "loop, static";
    case Work::loop_dynamic:
      return "loop, dynamic";
    case Work::loop_guided:
      return "loop, guided";
    case Work::none:
      break;
  }
  return "other";
}
const char* name_of(Dispatch kind) {
  switch (kind) {
    case Dispatch::iteration:
      return "iteration";
    case Dispatch::section:
      return "section";
    case Dispatch::loop_chunk:
      return "chunk";
    case Dispatch::taskloop_chunk:
      return "taskloop chunk";
    case Dispatch::distribute_chunk:
      return "distribute chunk";
  }
  return "other";
}
const char* name_of(Mutex mutex) {
  switch (mutex) {
    case Mutex::lock:
      return "lock";
    case Mutex::test_lock:
      return "lock (test)";
    case Mutex::nest_lock:
      return "nested lock";
    case Mutex::test_nest_lock:
      return "nested lock (test)";
    case Mutex::critical:
      return "critical";
    case Mutex::atomic:
      return "atomic";
    case Mutex::ordered:
      return "ordered";
  }
  return "other";
}

class OpenMpThread {
 public:
  OpenMpThread(Tracks& tracks, const ThreadTrace& thread, const std::vector<Ran>& ran)
      : tracks_(tracks), thread_(thread), ran_(ran) {}

  void replay(const Event& event);
  void end(Nanoseconds at);

 private:
  struct OpenSlice {
    Ompt of;
    std::uint64_t id;  // what tells it from others of its kind
    std::string name;
    Nanoseconds begin;
    std::vector<TraceArgument> arguments;
  };
  struct Lane {
    unsigned track;
    bool used = false;
    std::vector<OpenSlice> open = {};
    std::optional<Event> acquires = {};
  };
  struct Task {
    unsigned lane;
    std::string on_core;  // empty: not shown there
    std::uint64_t resumes;
  };

  unsigned free_lane();
  Lane* lane_of(std::uint64_t task);
  void open(Lane* lane, Ompt of, std::uint64_t id, std::string name, Nanoseconds at,
            std::vector<TraceArgument> arguments = {});
  void close(Lane* lane, Ompt of, std::uint64_t id, Nanoseconds at, bool cut = false);
  void close_top(Lane& lane, Nanoseconds at, bool cut);
  void ends(Lane* lane, Ompt of, std::uint64_t id, const char* name, const Event& event);
  void point(const std::string& name, const Event& event,
             std::vector<TraceArgument> arguments = {});
  void implicit_task(const Event& event);
  void task_switch(const Event& event);
  void mutex(Ompt of, const Event& event);
  void runs(std::uint64_t task, Nanoseconds at);

  Tracks& tracks_;
  const ThreadTrace& thread_;
  const std::vector<Ran>& ran_;
  std::vector<Lane> lanes_;
  std::map<std::uint64_t, Task> tasks_;  // those begun and not ended here
  std::uint64_t current_ = 0;
  Nanoseconds current_since_ = 0;
  std::size_t next_ran_ = 0;
};

unsigned OpenMpThread::free_lane() {
  unsigned lane = 0;
  while (lane < lanes_.size() && lanes_[lane].used) ++lane;
  if (lane == lanes_.size()) {
    std::string name = fmt::format("thread {}: OpenMP", thread_.tid);
    if (lane) name += fmt::format(" ({})", lane + 1);
    lanes_.push_back({tracks_.beside_thread(thread_, name)});
  }
  lanes_[lane].used = true;
  return lane;
}

OpenMpThread::Lane* OpenMpThread::lane_of(std::uint64_t task) {
  auto found = tasks_.find(task);
  return found == tasks_.end() ? nullptr : &lanes_[found->second.lane];
}

void OpenMpThread::open(Lane* lane, Ompt of, std::uint64_t id, std::string name, Nanoseconds at,
                        std::vector<TraceArgument> arguments) {
  if (lane) lane->open.push_back({of, id, std::move(name), at, std::move(arguments)});
}

void OpenMpThread::close_top(Lane& lane, Nanoseconds at, bool cut) {
  OpenSlice& top = lane.open.back();
  if (cut) top.arguments.push_back({"cut", std::uint64_t{1}});
  tracks_.slice(lane.track, "openmp", std::move(top.name), top.begin, std::max(at, top.begin),
                std::move(top.arguments));
  lane.open.pop_back();
}

// Ends it, and whatever was begun within and not ended.
void OpenMpThread::close(Lane* lane, Ompt of, std::uint64_t id, Nanoseconds at, bool cut) {
  if (!lane) return;
  auto found = std::find_if(lane->open.rbegin(), lane->open.rend(),
                            [&](const OpenSlice& open) { return open.of == of && open.id == id; });
  if (found == lane->open.rend()) return;
  auto above = found - lane->open.rbegin();
  for (; above > 0; --above) {
    // A mutex may be held beyond the end of what it was taken in: no slice then.
    if (lane->open.back().of == Ompt::mutex_acquired) {
      lane->open.pop_back();
    } else {
      close_top(*lane, at, true);
    }
  }
  close_top(*lane, at, cut);
}

void OpenMpThread::ends(Lane* lane, Ompt of, std::uint64_t id, const char* name,
                        const Event& event) {
  if (event.value & trace::kBegins) open(lane, of, id, name, event.time);
  if (event.value & trace::kEnds) close(lane, of, id, event.time);
}

void OpenMpThread::point(const std::string& name, const Event& event,
                         std::vector<TraceArgument> arguments) {
  if (Lane* lane = lane_of(current_))
    tracks_.instant(lane->track, "openmp", name, event.time, std::move(arguments));
}

// From now on `task` is the one that runs: shows on the cores where the one before did.
void OpenMpThread::runs(std::uint64_t task, Nanoseconds at) {
  auto found = tasks_.find(current_);
  if (found != tasks_.end() && !found->second.on_core.empty()) {
    while (next_ran_ < ran_.size() && ran_[next_ran_].end <= current_since_) ++next_ran_;
    for (std::size_t i = next_ran_; i < ran_.size() && ran_[i].begin < at; ++i) {
      Nanoseconds begin = std::max(ran_[i].begin, current_since_), end = std::min(ran_[i].end, at);
      if (begin >= end) continue;
      tracks_.slice(tracks_.of_core(thread_.instance, ran_[i].core), "member",
                    found->second.on_core, begin, end,
                    {{"pid", static_cast<std::uint64_t>(thread_.pid)},
                     {"tid", static_cast<std::uint64_t>(thread_.tid)},
                     {"task", current_}});
    }
  }
  current_ = task;
  current_since_ = at;
}

void OpenMpThread::implicit_task(const Event& event) {
  std::uint64_t task = event.b;
  if (event.value & trace::kBegins) {
    unsigned number = event.value >> 2 & 0x7fff, size = event.value >> 17;
    bool initial = event.detail != 0;
    unsigned lane = free_lane();
    std::string name =
        initial ? "initial task" : fmt::format("region {}, member {} of {}", event.a, number, size);
    open(&lanes_[lane], Ompt::implicit_task, task, name, event.time,
         {{"region", event.a},
          {"task", task},
          {"member", std::uint64_t{number}},
          {"size", std::uint64_t{size}}});
    tasks_[task] = {lane, initial ? "" : name, current_};
    runs(task, event.time);
    return;
  }
  auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  std::uint64_t resumes = found->second.resumes;
  if (current_ == task) runs(tasks_.count(resumes) ? resumes : 0, event.time);
  Lane& lane = lanes_[found->second.lane];
  close(&lane, Ompt::implicit_task, task, event.time);
  lane.used = false;
  lane.acquires.reset();
  tasks_.erase(found);
}

void OpenMpThread::task_switch(const Event& event) {
  std::uint64_t prior = event.a, next = event.b;
  auto status = static_cast<TaskStatus>(event.detail);
  switch (status) {
    case TaskStatus::early_fulfill:
    case TaskStatus::late_fulfill:
      return point(fmt::format("task {} is fulfilled", prior), event);
    case TaskStatus::taskwait_complete:
      return point("taskwait with dependences is over", event);
    default:
      break;
  }
  auto of_prior = tasks_.find(prior);
  if (next && !tasks_.count(next) && of_prior != tasks_.end()) {
    unsigned lane = of_prior->second.lane;
    std::string on_core = fmt::format("task {}", next);
    if (!of_prior->second.on_core.empty()) on_core += " on " + of_prior->second.on_core;
    open(&lanes_[lane], Ompt::task_schedule, next, fmt::format("task {}", next), event.time,
         {{"task", next}});
    tasks_[next] = {lane, std::move(on_core), prior};
  }
  runs(next, event.time);
  bool over = status != TaskStatus::yield && status != TaskStatus::switched;
  if (!over) return;
  of_prior = tasks_.find(prior);
  if (of_prior == tasks_.end()) return;
  close(&lanes_[of_prior->second.lane], Ompt::task_schedule, prior, event.time);
  tasks_.erase(of_prior);
}

void OpenMpThread::mutex(Ompt of, const Event& event) {
  Lane* lane = lane_of(current_);
  if (!lane) return;
  std::string name = name_of(static_cast<Mutex>(event.detail));
  std::vector<TraceArgument> lock = {{"mutex", fmt::format("{:#x}", event.a)}};
  switch (of) {
    case Ompt::mutex_acquire:
      lane->acquires = event;
      break;
    case Ompt::mutex_acquired:
      if (lane->acquires && lane->acquires->a == event.a) {
        tracks_.slice(lane->track, "openmp", "takes " + name, lane->acquires->time, event.time,
                      lock);
      }
      lane->acquires.reset();
      open(lane, Ompt::mutex_acquired, event.a, "has " + name, event.time, std::move(lock));
      break;
    default: {
      auto& open = lane->open;
      auto found = std::find_if(open.rbegin(), open.rend(), [&](const OpenSlice& one) {
        return one.of == Ompt::mutex_acquired && one.id == event.a;
      });
      if (found == open.rbegin() && found != open.rend()) {
        close_top(*lane, event.time, false);
      } else {
        // Released within something that began later: a slice would lie across that.
        if (found != open.rend()) open.erase(std::next(found).base());
        point("releases " + name, event, std::move(lock));
      }
    }
  }
}

void OpenMpThread::replay(const Event& event) {
  auto of =
      static_cast<Ompt>(static_cast<unsigned>(event.kind) - static_cast<unsigned>(Kind::openmp));
  switch (of) {
    case Ompt::parallel_begin:
      return open(lane_of(event.a), of, event.b,
                  fmt::format("{} {}", event.detail ? "teams region" : "region", event.b),
                  event.time, {{"region", event.b}, {"requested", std::uint64_t{event.value}}});
    case Ompt::parallel_end:
      return close(lane_of(event.a), Ompt::parallel_begin, event.b, event.time);
    case Ompt::implicit_task:
      return implicit_task(event);
    case Ompt::task_schedule:
      return task_switch(event);
    case Ompt::task_create:
      return point(fmt::format("creates task {}", event.b), event, {{"task", event.b}});
    case Ompt::task_dependence:
      return point(fmt::format("task {} waits for task {}", event.b, event.a), event);
    case Ompt::sync_region:
    case Ompt::reduction:
      return ends(lane_of(event.b), of, event.detail, name_of(static_cast<Sync>(event.detail)),
                  event);
    case Ompt::sync_region_wait:
      return ends(lane_of(event.b), of, event.detail, "waits", event);
    case Ompt::work:
      return ends(lane_of(event.b), of, event.detail, name_of(static_cast<Work>(event.detail)),
                  event);
    case Ompt::masked:
      return ends(lane_of(event.b), of, 0, "masked", event);
    case Ompt::mutex_acquire:
    case Ompt::mutex_acquired:
    case Ompt::mutex_released:
      return mutex(of, event);
    case Ompt::nest_lock:
      return point(event.value & trace::kBegins ? "takes its nested lock again"
                                                : "gives its nested lock back once",
                   event);
    case Ompt::dispatch: {
      auto kind = static_cast<Dispatch>(event.detail);
      if (kind == Dispatch::section) return point(name_of(kind), event);
      return point(name_of(kind), event, {{"first", event.a}, {"iterations", event.b}});
    }
    case Ompt::cancel:
      return point("cancel", event, {{"flags", std::uint64_t{event.value}}});
    case Ompt::flush:
      return point("flush", event);
    case Ompt::lock_init:
      return point("lock initialised", event, {{"mutex", fmt::format("{:#x}", event.a)}});
    case Ompt::lock_destroy:
      return point("lock destroyed", event, {{"mutex", fmt::format("{:#x}", event.a)}});
    default:
      return;
  }
}

void OpenMpThread::end(Nanoseconds at) {
  runs(0, at);
  for (Lane& lane : lanes_) {
    while (!lane.open.empty()) close_top(lane, at, true);
  }
}

}  // namespace

void add_openmp(Tracks& tracks, const Rings& rings, const Endings& endings,
                const RanByThread& ran) {
  static const std::vector<Ran> kNever;
  for (const ThreadTrace& thread : rings.threads) {
    auto of_thread = ran.find({thread.pid, thread.tid});
    OpenMpThread replay(tracks, thread, of_thread == ran.end() ? kNever : of_thread->second);
    for (const Event& event : thread.events)
      if (event.kind >= Kind::openmp) replay.replay(event);
    replay.end(endings.of(thread.pid));
  }
}

}  // namespace roost::cli
