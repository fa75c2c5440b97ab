// The simulated world: cores that execute threads, objects on which threads wait, and a clock.
//
// Exact and single-threaded: times are whole nanoseconds, work is in millionths of a cycle, and
// events at one time happen in the order in which they were made. Same machine, program and
// scheduler: same run, to the byte.
#pragma once

#include <deque>
#include <vector>

#include "sim/event_queue.h"
#include "sim/frequency.h"
#include "sim/machine.h"
#include "sim/observer.h"
#include "sim/program.h"
#include "sim/random.h"
#include "sim/scheduler.h"

namespace roost::sim {

// What the world counts by itself.
struct Counts {
  std::uint64_t events = 0;
  std::uint64_t switches = 0;    // a core turned from one thread to another
  std::uint64_t migrations = 0;  // a thread went on on another core
  std::uint64_t done = 0;        // units of `count`
  std::uint64_t requests = 0;    // replied
  std::uint64_t threads = 0;     // started
};

class World {
 public:
  World(const Machine&, const Program&, Governor, Scheduler&);
  World(const World&) = delete;

  void watch(Observer& observer) { observers_.push_back(&observer); }

  enum class Outcome {
    finished,
    time_limit,   // simulated time
    event_limit,  //
    stuck,        // threads are left, and nothing will ever happen
  };
  Outcome run(Nanoseconds time_limit, std::uint64_t event_limit = ~0ull);

  // For schedulers.
  Nanoseconds now() const { return now_; }
  const Machine& machine() const { return machine_; }
  const Costs& costs() const { return machine_.costs; }
  std::uint32_t mhz(CoreIndex core) const { return frequencies_.mhz(core); }
  CoreIndex n_cores() const { return static_cast<CoreIndex>(cores_.size()); }
  // `thread`, off all cores, goes on on `core`, which is empty, after `latency`.
  void dispatch(CoreIndex core, ThreadIndex thread, Nanoseconds latency);
  // The thread on `core` stops where it is.
  void take_off(CoreIndex core);
  // An empty core spins (it stays warm and is woken faster) or halts.
  void poll(CoreIndex core, bool polling);
  bool polls(CoreIndex core) const { return cores_[core].polling; }
  void set_timer(Nanoseconds at, std::uint32_t what, std::uint32_t who, std::uint64_t stamp = 0) {
    queue_.push(at, kFirstTimer + what, who, stamp);
  }
  // Costs the thread that just acts so much of its time, if there is one.
  void charge(Nanoseconds cost) { charged_ += cost; }
  // A thread was queued for `core`: whoever yields there in vain tries again.
  void kick(CoreIndex core);
  ThreadIndex on_core(CoreIndex core) const { return cores_[core].thread; }
  CoreIndex core_of(ThreadIndex thread) const { return threads_[thread].core; }
  CoreIndex last_core(ThreadIndex thread) const { return threads_[thread].last_core; }
  ProcessIndex process_of(ThreadIndex thread) const { return threads_[thread].process; }
  bool still_waits(ThreadIndex thread) const { return !threads_[thread].released; }
  // It busy-waits, still in vain, and yields in each round.
  bool waits_by_yielding(ThreadIndex thread) const {
    const Thread& it = threads_[thread];
    return !it.released && (it.phase == Phase::spin_yield || it.phase == Phase::yielded_in_vain);
  }
  std::size_t thread_slots() const { return threads_.size(); }
  // Nobody runs on `core`: how long a thread takes that is woken there.
  Nanoseconds wake_latency(CoreIndex core);
  // The thread that acts, kNoThread in an interrupt.
  ThreadIndex acting() const { return acting_; }
  bool in_use(CoreIndex core) const { return cores_[core].thread != kNoThread; }

  // For reports.
  const Counts& counts() const { return counts_; }
  std::uint64_t live_threads() const { return live_; }
  std::uint64_t energy_picojoules(CoreIndex core) const { return cores_[core].energy; }
  Nanoseconds busy(CoreIndex core) const { return cores_[core].busy; }
  // For how long the memory controller of a node has served requests.
  Nanoseconds controller_busy(unsigned node) const { return nodes_[node].controller_busy; }
  // Busy time by frequency, in steps of 100 MHz.
  const std::vector<Nanoseconds>& time_by_frequency() const { return by_frequency_; }
  Nanoseconds last_end() const { return last_end_; }
  std::uint64_t outstanding() const { return outstanding_; }
  std::string describe_stuck() const;
  const Script& script_of(ThreadIndex thread) const {
    return program_.scripts[threads_[thread].script];
  }

 private:
  enum EventKind : std::uint32_t {
    kStepDone,      // who: core
    kStart,         // who: index in program.starts
    kArrival,       // who: index in program.arrivals
    kKernelReturn,  // who: thread
    kFrequencies,
    kFirstTimer = 64
  };
  enum class Phase : std::uint8_t {
    next,           // does its next op
    retry,          // was woken to try the mutex of its op again
    at_controller,  // its memory request has passed the link
    watching,       // sees whether the mutex of its op becomes free soon
    released,       // was served what it waited for
    spin,           // busy-waits
    spin_yield,
    yielded_in_vain,  // yields in each round, and nobody was there
    waking,           // wakes those of `to_wake`
    forking,
    ended,
  };
  static constexpr std::uint32_t kNoMutex = ~0u;
  enum class State : std::uint8_t { unused, ready, running, blocked, kernel };

  struct Thread {
    std::uint32_t script = 0;
    std::uint32_t pc = 0;
    ProcessIndex process = 0;
    CoreIndex core = kNoCore;
    CoreIndex last_core = kNoCore;
    std::uint16_t home_node = 0xffff;
    Phase phase = Phase::next;
    State state = State::unused;
    bool endless = false;  // runs until somebody stops it
    bool released = true;  // what it waits for has come
    bool joins = false;
    bool own_process = false;
    bool paid = false;  // the cost of the next start, or of its end
    std::uint8_t depth = 0;
    std::uint16_t memory_permille = 0;
    ThreadIndex parent = kNoThread;
    std::uint32_t children = 0;
    std::uint32_t unjoined = 0;          // children that have ended, with stacks not given back
    Nanoseconds overhead = 0;            // to pass before work goes on
    std::uint64_t work = 0;              // left of this step
    std::uint64_t step_work = 0;         // of the whole step
    std::uint64_t remaining = 0;         // of a fork
    std::uint32_t waits_on = 0;          // the barrier on which it spins, or behind them the mutex
    std::uint32_t gives_way = kNoMutex;  // behind whose waiters it queues next time
    Nanoseconds request = 0;             // arrival of the request it serves
    std::uint64_t rounds[kMaxNesting] = {};
    std::vector<ThreadIndex> to_wake;
  };
  struct Core {
    ThreadIndex thread = kNoThread;
    ThreadIndex last_thread = kNoThread;
    bool polling = false;
    Nanoseconds empty_since = 0;  // and nobody spins there
    std::uint64_t stamp = 0;      // of the event that ends the present step
    Nanoseconds since = 0;
    std::uint64_t rate = 0;  // work a nanosecond
    Nanoseconds busy = 0;
    std::uint64_t energy = 0;
  };
  struct Waiting {
    ThreadIndex thread;
    bool woken = false;     // and on its way
    unsigned failures = 0;  // tries after a wake-up that came too late
  };
  struct Mutex {
    ThreadIndex owner = kNoThread;
    CoreIndex last_core = kNoCore;  // where it was taken last: that core has its cache line
    bool contended = false;         // as the word of a futex says: unlock has to ask the kernel
    std::vector<ThreadIndex> watching;
    std::vector<ThreadIndex> spinning;
    std::deque<Waiting> waiters;
  };
  struct Semaphore {
    std::uint64_t units = 0;
    std::deque<ThreadIndex> waiters;
  };
  struct Barrier {
    std::uint32_t members = 0;
    std::uint32_t arrived = 0;
    std::vector<ThreadIndex> blocked;
    std::vector<ThreadIndex> spinning;
  };
  struct Queue {
    std::deque<Nanoseconds> requests;
    std::deque<ThreadIndex> waiters;
  };
  struct Node {
    std::uint64_t demand = 0;  // sum of the memory shares of threads that run, in permille
    // Its memory controller and the link to it serve one request at a time, first come first
    // served.
    Nanoseconds controller_free_at = 0;
    Nanoseconds link_free_at = 0;
    Nanoseconds controller_busy = 0;
  };

  template <class Call>
  void tell(Call&& call) {
    for (Observer* observer : observers_) call(*observer);
  }

  // world.cc: cores and time
  void handle(const Event&);
  void settle(CoreIndex);
  void arm(CoreIndex);
  std::uint64_t rate_of(CoreIndex) const;
  void rate_changed(CoreIndex);
  void sibling_changed(CoreIndex);
  void memory_changed(ThreadIndex, bool begins);
  void start_frequencies();
  void update_frequencies();

  // world_steps.cc: threads; world_objects.cc: what they wait on
  void step(ThreadIndex);
  // These return false if the thread has stopped, or has something to execute first.
  bool do_op(Thread&, ThreadIndex);
  bool lock(Thread&, ThreadIndex, std::uint32_t mutex);
  bool take(Thread&, ThreadIndex, Mutex&);
  bool lock_futex(Thread&, ThreadIndex, std::uint32_t mutex);
  bool lock_in_lot(Thread&, ThreadIndex, std::uint32_t mutex);
  bool watch_mutex(Thread&, ThreadIndex, Mutex&, Nanoseconds patience);
  void unlock(Thread&, std::uint32_t mutex);
  void unlock_futex(Thread&, std::uint32_t mutex);
  void unlock_in_lot(Thread&, std::uint32_t mutex);
  void signal(Thread&, const Op&);
  bool arrive(Thread&, ThreadIndex, const Op&);
  bool spin_on(Thread&, ThreadIndex);
  bool accept(Thread&, ThreadIndex, std::uint32_t queue);
  bool wait(Thread&, ThreadIndex, std::uint32_t semaphore);
  bool access(Thread&, const Op&);
  bool kernel(Thread&, ThreadIndex, Nanoseconds until);
  bool join(Thread&, ThreadIndex);
  void joined(Thread& parent);
  bool end(Thread&, ThreadIndex);
  void release_barrier(Thread& last, Barrier&, std::uint32_t index);
  bool spin_lock(Thread&, ThreadIndex, const Op&);
  void pass_on(Mutex&);
  void end_spinning(ThreadIndex);
  void wake_some(Thread&, ThreadIndex);
  void fork_some(Thread&, ThreadIndex);
  void wake_now(ThreadIndex thread, ThreadIndex waker);
  bool block(Thread&, ThreadIndex);
  void reply(Thread&);
  void jump(Thread&, const Op&);
  void add_request(std::uint32_t queue, Nanoseconds at);
  ThreadIndex start(std::uint32_t script, ProcessIndex, ThreadIndex parent, bool own_process);
  void trap(Thread&);

  const Machine& machine_;
  const Program& program_;
  Scheduler& scheduler_;
  Frequencies frequencies_;
  std::vector<CoreInfo> info_;
  std::vector<Observer*> observers_;
  EventQueue queue_;
  Nanoseconds now_ = 0;
  std::vector<Core> cores_;
  std::deque<Thread> threads_;  // references stay valid while it grows
  std::vector<ThreadIndex> free_threads_;
  std::vector<ProcessIndex> free_processes_;
  std::vector<std::uint32_t> kept_;   // ended threads for reuse, by process
  std::vector<bool> spinning_found_;  // busy-waiting that was found out, by Thread::waits_on
  std::vector<Mutex> mutexes_;
  std::vector<Semaphore> semaphores_;
  std::vector<Barrier> barriers_;
  std::vector<Queue> queues_;
  std::vector<Nanoseconds> device_free_at_;
  std::vector<Node> nodes_;
  std::vector<Nanoseconds> by_frequency_;
  ThreadIndex acting_ = kNoThread;
  Nanoseconds charged_ = 0;
  std::uint64_t live_ = 0;         // threads
  std::uint64_t live_to_end_ = 0;  // threads the run waits for
  std::uint64_t outstanding_ = 0;  // requests
  std::size_t starts_left_ = 0;
  std::size_t arrivals_left_ = 0;
  bool frequencies_run_ = false;
  Random random_{1};
  Nanoseconds last_end_ = 0;
  Counts counts_;
};

}  // namespace roost::sim
