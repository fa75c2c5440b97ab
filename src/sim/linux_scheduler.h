// The Linux baseline: EEVDF on per-core run queues, with the placement heuristics that matter to
// the comparison.
//
// Modelled after kernel/sched/fair.c as NEST section 2.1 describes it (placement at fork and
// wake-up, v5.9) and EEVDF (v6.6: lag, virtual deadlines, base slice); all threads have nice 0.
// Simplified: one class of threads, no cgroups, balancing by numbers of threads instead of load,
// wake-up preemption by deadline alone.
//
// With Placement::smove it is S_move (Gouicem et al., as NEST section 2.2 describes it): a thread
// that is started or woken goes to the core of the one that does so, if the core chosen for it was
// slow at its last tick; if it does not run there soon, it moves on to that core.
#pragma once

#include <set>
#include <vector>

#include "sim/scheduler.h"
#include "sim/world.h"

namespace roost::sim {

class LinuxScheduler : public Scheduler {
 public:
  enum class Placement { cfs, smove };
  explicit LinuxScheduler(Placement placement = Placement::cfs) : placement_(placement) {}
  std::string name() const override { return placement_ == Placement::cfs ? "linux" : "smove"; }
  void attach(World&) override;
  void starts(ThreadIndex thread, ThreadIndex parent) override;
  void wakes(ThreadIndex thread, ThreadIndex waker) override;
  void blocks(ThreadIndex) override;
  void enters_kernel(ThreadIndex thread) override { blocks(thread); }
  void leaves_kernel(ThreadIndex thread) override { wakes(thread, kNoThread); }
  bool yields(ThreadIndex, bool waiting) override;
  void released(ThreadIndex) override;
  void ends(ThreadIndex) override;
  void timer(std::uint32_t what, std::uint32_t who, std::uint64_t stamp) override;

 private:
  using Virtual = std::int64_t;  // virtual time; nice 0 passes it at one a nanosecond
  enum Timer : std::uint32_t { kTick, kRetryYield, kMoveOn };
  static constexpr Nanoseconds kForever = ~0ull;

  struct Entity {
    Virtual vruntime = 0;
    Virtual deadline = 0;
    Virtual lag = 0;  // what the queue owed it when it left
    Nanoseconds last_ran = 0;
    CoreIndex core = 0;  // whose queue it is in, or was last
    bool fresh = true;
    CoreIndex chosen = kNoCore;  // smove: where it goes if it does not run soon
    std::uint64_t placements = 0;
  };
  struct RunQueue {
    std::set<std::pair<Virtual, ThreadIndex>> by_deadline;  // without the running thread
    ThreadIndex running = kNoThread;
    Virtual sum = 0;          // of all vruntimes, the running thread's included
    Virtual zero = 0;         // average when it was last not empty
    Nanoseconds since = 0;    // vruntime of the running thread is up to date
    bool slice_over = false;  // of the running thread
    bool resting = false;     // the running thread stands for all that wait by yielding
    bool ticking = false;
    unsigned ticks = 0;
    Nanoseconds idle_since = 0;
    Nanoseconds average_idle = 0;
    // Recent use, decaying by half in 32 ms, and when that was.
    std::uint64_t use = 0;
    Nanoseconds use_at = 0;
    Nanoseconds run_since = 0;
    std::uint32_t tick_mhz = 0;  // smove: the frequency that the last tick saw

    unsigned n() const {
      return static_cast<unsigned>(by_deadline.size()) + (running != kNoThread);
    }
  };

  Virtual slice() const { return static_cast<Virtual>(world_->machine().kernel_slice); }
  Virtual average(const RunQueue& rq) const {
    return rq.n() ? rq.sum / static_cast<Virtual>(rq.n()) : rq.zero;
  }
  bool eligible(const RunQueue& rq, Virtual vruntime) const {
    return vruntime * static_cast<Virtual>(rq.n()) <= rq.sum;
  }
  bool idle(CoreIndex core) const { return queues_[core].n() == 0; }
  bool whole_core_idle(CoreIndex) const;

  void update(RunQueue&);
  void enqueue(CoreIndex, ThreadIndex, bool placed);
  void leave(RunQueue&, ThreadIndex);  // not the running thread's place in the tree
  ThreadIndex first(const RunQueue&) const;
  bool rest_while_all_wait(CoreIndex);
  void give_up_slice(RunQueue&, Entity&);
  void put_back(RunQueue&);
  void run(CoreIndex, ThreadIndex, Nanoseconds latency);
  void resched(CoreIndex, Nanoseconds cost);
  void next(CoreIndex, Nanoseconds cost);
  void check_preemption(CoreIndex, ThreadIndex woken);
  void ensure_tick(CoreIndex);
  void tick(CoreIndex);

  // linux_placement.cc
  CoreIndex place_new(CoreIndex from);
  CoreIndex place_woken(CoreIndex previous, CoreIndex waker);
  CoreIndex idle_in_cache(CoreIndex target);
  void add(CoreIndex, ThreadIndex);
  bool pull(CoreIndex to, CoreIndex first, CoreIndex end);
  void balance_idle(CoreIndex);
  void push_away(CoreIndex from, bool everywhere);
  ThreadIndex movable(const RunQueue&) const;
  void move(ThreadIndex, CoreIndex from, CoreIndex to);
  std::uint64_t recent_use(CoreIndex) const;
  void account_use(CoreIndex);

  // linux_smove.cc
  CoreIndex stay_warm(ThreadIndex, CoreIndex chosen, CoreIndex from);
  void move_on(ThreadIndex);

  Placement placement_;
  World* world_ = nullptr;
  std::vector<CoreInfo> info_;
  std::vector<RunQueue> queues_;
  std::vector<Entity> entities_;
  std::vector<CoreIndex> crowded_;  // cores with two threads or more
  std::vector<std::uint32_t> crowded_at_;
  void note_length(CoreIndex);
};

}  // namespace roost::sim
