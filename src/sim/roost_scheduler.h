// Roost in the simulator: the runtime's own ledger (sched/ledger.h) with the runtime's own policy
// object; this class stands for what runtime_threads.cc and keeper.cc do around it.
//
// Simplified: the keeper shares a core by the kernel's slice alone, threads are always pinned, and
// busy-waiting is found out at the first tick (docs/user/simulator.md, "What is left out").
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "policy/plug_in.h"
#include "sched/ledger.h"
#include "sim/plain_world.h"
#include "sim/scheduler.h"
#include "sim/world.h"

namespace roost::sim {

class RoostScheduler : public Scheduler {
 public:
  using Parameters = std::map<std::string, std::uint64_t>;
  using Record = ThreadRecord<PlainWorld>;

  // `given`: parameters that differ from the policy's defaults.
  explicit RoostScheduler(const Policy& policy, const Parameters& given = {});

  std::string name() const override { return policy_.name; }
  void attach(World&) override;
  void starts(ThreadIndex thread, ThreadIndex parent) override;
  void wakes(ThreadIndex thread, ThreadIndex waker) override;
  void blocks(ThreadIndex) override;
  void enters_kernel(ThreadIndex) override;
  void leaves_kernel(ThreadIndex) override;
  bool yields(ThreadIndex, bool waiting) override;
  void ends(ThreadIndex) override;
  void timer(std::uint32_t what, std::uint32_t who, std::uint64_t stamp) override;
  bool keeps_threads() const override { return true; }
  Nanoseconds finds_spinning_after() const override { return kTick; }
  Nanoseconds yields_again_after() const override { return kYieldsAgain; }
  bool has_parking_lot() const override { return true; }
  bool traps() const override { return true; }
  bool is_work_conserving() const override { return true; }

  unsigned sharing() const override { return sharing_; }
  std::string broken() override;
  std::vector<ThreadIndex> queue(CoreIndex);
  std::uint64_t parameter(const char* name) const;
  const char* policy_fault() const override {
    const PlugIn* plug_in = plug_in_of(policy_);
    return plug_in ? plug_in->fault() : nullptr;
  }
  const Policy& policy() const { return policy_; }

 private:
  static constexpr Nanoseconds kTick = 4'000'000;           // of the keeper
  static constexpr Nanoseconds kStealAge = 200'000;         // as in yield_core()
  static constexpr Nanoseconds kYieldsAgain = 100'000;      // coarser than in truth, to save events
  static constexpr Nanoseconds kWaitPatience = 20'000'000;  // of a waiter that is passed over
  static constexpr Nanoseconds kReadyCost = 150;  // make_ready that only queues (PROTOCOL.md)

  enum Timer : std::uint32_t { kSpinEnd, kSlice, kWatch };

  struct Os {
    RoostScheduler& scheduler;
    Nanoseconds now() { return scheduler.world_->now(); }
    Party self() { return scheduler.me_; }
    ProcessIndex process() { return scheduler.my_process_; }
    bool waits_in_vain(const Record& record, Nanoseconds waited) {
      return waited < kWaitPatience && scheduler.world_->still_waits(scheduler.index(record));
    }
    void wake(Record& record) { scheduler.woken(scheduler.index(record)); }
    void pin(Record& record, CoreIndex core) {
      record.pinned_to = core;
      scheduler.pin_cost_ += scheduler.world_->costs().affinity;
    }
    void relax(unsigned) {}
  };
  using SimLedger = Ledger<PlainWorld, Os>;

  // A core as the kernel sees it.
  struct Below {
    ThreadIndex spinner = kNoThread;  // spins on the idle core before it sleeps
    std::uint64_t spin_stamp = 0;
    // Threads that compute beside the core's owner, and the owner while one of them runs.
    std::deque<ThreadIndex> shared;
    bool slicing = false;
    std::uint32_t passes = 0;  // as the watchdog saw them last
    Nanoseconds stands_since = 0;
  };

  ThreadIndex index(const Record& record) const {
    return static_cast<ThreadIndex>(&record - records_.data());
  }
  State state(ThreadIndex thread) const { return state_of(records_[thread].state.load()); }
  void act_as(ThreadIndex);
  void grow();
  void make_ready(ThreadIndex, Nanoseconds latency_if_idle, Nanoseconds latency_if_kept = ~0ull);
  void woken(ThreadIndex);
  void run(CoreIndex, ThreadIndex, Nanoseconds latency);
  void share(CoreIndex, ThreadIndex, bool first);
  void release(CoreIndex, ThreadIndex leaver, bool spins);
  // The thread becomes `next` and gives up its core, if it still has it; `leaver` as in release().
  void leaves(ThreadIndex, State next, ThreadIndex leaver, bool spins);
  void next_below(CoreIndex);
  void stop_spinner(CoreIndex);
  void idle(CoreIndex, ThreadIndex spinner);
  void watch();
  void ensure_watch();

  const Policy& policy_;
  World* world_ = nullptr;
  Os os_{*this};
  std::vector<std::uint64_t> parameters_;
  std::vector<CoreSlot<PlainWorld>> cores_;
  std::vector<CoreInfo> info_;
  std::vector<Record> records_;
  std::vector<Fifo> fifos_;
  std::vector<MaskWord<PlainWorld>> idle_, queued_;
  std::vector<Below> below_;
  std::optional<SimLedger> ledger_;
  Party me_ = kNobody;
  ProcessIndex my_process_ = kNoProcess;
  ThreadIndex leaver_ = kNoThread;  // gives its core up in the ledger's present call
  CoreIndex left_ = kNoCore;        // that core
  Nanoseconds pin_cost_ = 0;
  Nanoseconds idle_spin_ = 0;
  Nanoseconds patience_ = 0;
  bool watching_ = false;
  unsigned sharing_ = 0;  // threads in all `shared`
};

}  // namespace roost::sim
