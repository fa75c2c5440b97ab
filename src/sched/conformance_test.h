// What every policy must keep, stated once over a record of what threads did: the record may come
// from the simulator, from real threads on the ledger, or from processes that share an instance.
//
// A record is written by those who watch from outside, so what it says of an instant is what was
// certainly so: a thread's time on a core begins with `runs`, after it got it, and ends with
// `leaves` or, for good, `ends`, before it gives it up; `ready` comes before the wake-up, which may
// be of a thread that has not gone to sleep yet. Each property allows for that. `starts` is for
// worlds that use an index again.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "base/types.h"

namespace roost::conformance {

struct Event {
  enum Kind : std::uint32_t { none, starts, ready, runs, leaves, ends };
  Nanoseconds at;
  std::atomic<std::uint32_t> kind;  // written last
  ThreadIndex thread;
  ProcessIndex process;
  CoreIndex core;      // of runs, leaves and ends
  std::uint64_t idle;  // a bit for each core to which no thread has been given, just now
};

// A record of fixed size that threads and processes write at once, in memory of the caller's that
// is zero.
class Log {
 public:
  static std::size_t bytes(std::uint32_t capacity) {
    return sizeof(Log) + capacity * sizeof(Event);
  }
  static Log& in(void* zeroed, std::uint32_t capacity) {
    Log& log = *static_cast<Log*>(zeroed);
    log.capacity_ = capacity;
    return log;
  }
  // Events beyond the capacity are not kept; full() tells.
  void add(Nanoseconds at, Event::Kind kind, ThreadIndex thread, ProcessIndex process,
           CoreIndex core = kNoCore, std::uint64_t idle = 0) {
    std::uint32_t i = next_.fetch_add(1, std::memory_order_seq_cst);
    if (i >= capacity_) return;
    Event& event = events()[i];
    event.at = at;
    event.thread = thread;
    event.process = process;
    event.core = core;
    event.idle = idle;
    event.kind.store(kind, std::memory_order_release);
  }
  void clear() { next_.store(0); }
  bool full() const { return next_.load() > capacity_; }
  std::uint32_t size() const { return std::min(next_.load(), capacity_); }
  // In the order in which they were added; by whoever knows that nobody adds any more.
  const Event& operator[](std::uint32_t i) const { return const_cast<Log*>(this)->events()[i]; }

 private:
  Event* events() { return reinterpret_cast<Event*>(this + 1); }

  alignas(64) std::atomic<std::uint32_t> next_;
  std::uint32_t capacity_;
};

// What holds in the world of a record.
struct Promises {
  CoreIndex n_cores = 1;
  // A core may seem to be free, and a thread to wait, for so long and over so many events: those
  // who bring them together take their time, or are not on a CPU just now.
  Nanoseconds patience = ~0ull;  // it is no promise
  std::uint32_t events = 0;
  // Which cores are idle is in the events: a thread with a core may have to wait for a CPU.
  bool sees_idle = false;
  Nanoseconds quantum = 0;  // 0: no promise; else on one core
  // Whether turns are counted: no thread gets more than a few while another waits.
  bool turns = false;
  Nanoseconds turn_patience = 0;  // one who is about to wait may have to wait for a CPU before
  // A thread that is woken while all is quiet has its last core again.
  bool affinity = false;
  // More threads than one may have a core where the watchdog helps.
  bool exclusive = true;
  // The record goes to the end of all threads.
  bool complete = true;
};

// Looks at a record event by event. An empty text if all is kept, else what is broken first.
class Judge {
 public:
  Judge(const Log& log, const Promises& promises)
      : log_(log), promises_(promises), cores_(promises.n_cores) {
    for (std::uint32_t i = 0; i < log.size(); ++i)
      threads_.resize(std::max<std::size_t>(threads_.size(), log[i].thread + 1));
  }

  std::string verdict() {
    if (log_.full()) return "the record is cut off";
    for (i_ = 0; i_ < log_.size() && broken_.empty(); ++i_) look(log_[i_]);
    for (ThreadIndex t = 0; t < threads_.size() && promises_.complete; ++t) {
      if (threads_[t].is == Is::ready) say("thread " + name(t) + " was lost: it never ran again");
    }
    return broken_;
  }

 private:
  struct Instant {
    Nanoseconds at = 0;
    std::uint32_t event = 0;
  };
  enum class Is { away, ready, running, gone };
  struct Thread {
    Is is = Is::away;
    CoreIndex last = kNoCore;
    bool permit = false;    // woken while it ran
    Nanoseconds since = 0;  // ready
    ProcessIndex process = kNoProcess;
    bool alone = false;                // it became ready when nobody else ran or was
    std::vector<std::uint32_t> turns;  // of each thread while this one waits
  };
  struct Core {
    ThreadIndex thread = kNoThread;
    Instant since;  // idle
    // Quantum: whom it serves, and between which times that began.
    ProcessIndex serves = kNoProcess;
    Nanoseconds earliest = 0, latest = 0;
    Nanoseconds left = 0;  // when the last one announced that it would leave
  };

  static std::string name(std::uint32_t index) { return std::to_string(index); }
  void say(const std::string& what) {
    if (broken_.empty()) broken_ = "event " + name(i_) + ": " + what;
  }

  void look(const Event& event) {
    Thread& thread = threads_[event.thread];
    conserve(event);
    if (event.kind == Event::starts) {
      thread = {};
    } else if (event.kind == Event::ready) {
      if (thread.is == Is::running) thread.permit = true;
      if (thread.is == Is::away) become_ready(event, thread);
    } else if (event.kind == Event::runs) {
      run(event, thread);
    } else {
      leave(event, thread);
    }
  }

  void leave(const Event& event, Thread& thread) {
    if (thread.is != Is::running)
      return say("thread " + name(event.thread) + " left and had no core");
    Core& core = cores_[event.core];
    if (core.thread == event.thread) core.thread = kNoThread;
    core.since = {event.at, i_};
    core.left = event.at;
    --running_;
    thread.is = event.kind == Event::ends ? Is::gone : Is::away;
    if (thread.permit && thread.is == Is::away) become_ready(event, thread);
    thread.permit = false;
  }

  void become_ready(const Event& event, Thread& thread) {
    thread.alone = running_ == 0 && ready_ == 0 && thread.last != kNoCore;
    thread.is = Is::ready;
    thread.since = event.at;
    thread.process = event.process;
    if (ready_ == 0) ready_since_ = {event.at, i_};
    if (promises_.turns) thread.turns.assign(threads_.size(), 0);
    ++ready_;
  }

  void run(const Event& event, Thread& thread) {
    Core& core = cores_[event.core];
    if (promises_.exclusive && core.thread != kNoThread)
      say("core " + name(event.core) + " has threads " + name(core.thread) + " and " +
          name(event.thread));
    if (thread.is == Is::running) say("thread " + name(event.thread) + " got a second core");
    if (promises_.affinity && thread.alone && thread.last != event.core)
      say("thread " + name(event.thread) + ", woken alone, left core " + name(thread.last));
    if (thread.is == Is::ready) --ready_;
    count_turn(event);
    judge_quantum(event, core);
    thread.is = Is::running;
    thread.alone = false;
    thread.last = event.core;
    thread.process = event.process;
    core.thread = event.thread;
    ++running_;
  }

  // Bounded wait: those who run again and again pass by one who waits a few times at most.
  void count_turn(const Event& event) {
    if (!promises_.turns) return;
    auto most = static_cast<std::uint32_t>(4 * threads_.size() + 64);
    for (ThreadIndex t = 0; t < threads_.size(); ++t) {
      if (threads_[t].is != Is::ready || t == event.thread) continue;
      ++threads_[t].turns[event.thread];
      if (threads_[t].turns[event.thread] > most &&
          event.at - threads_[t].since > promises_.turn_patience)
        say("thread " + name(event.thread) + " ran " + name(most) + " times while thread " +
            name(t) + " waited");
    }
  }

  // On one core: a process that has threads there keeps it for its quantum, and then gives way.
  void judge_quantum(const Event& event, Core& core) {
    if (promises_.quantum == 0) return;
    bool own = false, others = false;
    for (ThreadIndex t = 0; t < threads_.size(); ++t) {
      // Certainly queued when the last one left: woken by one who ran on this core before.
      const Thread& thread = threads_[t];
      bool waited = thread.is == Is::ready && thread.last != kNoCore && thread.since < core.left;
      if (waited) (thread.process == core.serves ? own : others) = true;
    }
    bool surely_over = core.left >= core.latest + promises_.quantum;
    bool surely_not_over = event.at < core.earliest + promises_.quantum;
    if (core.serves != kNoProcess) {
      if (surely_not_over && own && event.process != core.serves)
        say("process " + name(core.serves) + " lost the core before its quantum was over");
      if (surely_over && others && event.process == core.serves)
        say("process " + name(core.serves) + " kept the core beyond its quantum");
    }
    if (event.process != core.serves || surely_over) {
      core.earliest = core.left;
      core.latest = event.at;
    } else if (!surely_not_over) {
      core.latest = event.at;  // a new quantum of the same process may have begun
    }
    core.serves = event.process;
  }

  // No core has been free until now while threads were READY, whichever they were.
  void conserve(const Event& event) {
    for (std::size_t c = 0; c < cores_.size(); ++c) {
      Core& core = cores_[c];
      bool idle = promises_.sees_idle ? event.idle >> c & 1 : core.thread == kNoThread;
      if (!idle) core.since = {event.at, i_};
      if (!idle || ready_ == 0) continue;
      Nanoseconds since = std::max(ready_since_.at, core.since.at);
      std::uint32_t first = std::max(ready_since_.event, core.since.event);
      if (event.at - since > promises_.patience && i_ - first > promises_.events)
        say("threads wait, and core " + name(c) + " is idle");
    }
  }

  const Log& log_;
  const Promises& promises_;
  std::vector<Core> cores_;
  std::vector<Thread> threads_;
  std::uint32_t i_ = 0;
  unsigned running_ = 0, ready_ = 0;
  Instant ready_since_;  // threads, without a gap
  std::string broken_;
};

inline std::string verdict(const Log& log, const Promises& promises) {
  return Judge(log, promises).verdict();
}

}  // namespace roost::conformance
