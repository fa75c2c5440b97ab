// A small instance for models of the ledger: two cores, some threads, and what must hold at rest.
#pragma once

#include "relacy_world.h"
#include "sched/ledger.h"

namespace roost::model {

using Record = ThreadRecord<World>;

inline constexpr CoreIndex kCores = 2;
inline constexpr ThreadIndex kThreads = 5;
inline constexpr unsigned kProcesses = 2;

struct Instance;
inline Instance* instance;  // the policy's callbacks get no pointer of ours

// Thread i belongs to process i % 2; threads are RUNNING, BLOCKED or queued to begin with.
struct Instance {
  struct Os {
    Nanoseconds clock = 0, step = 1;
    unsigned lock_tries = 1024;
    unsigned steps = ~0u;  // so many; then the clock stands, and nobody is overtaken any more
    Nanoseconds now() { return clock += steps ? (--steps, step) : 0; }
    Party self() { return rl::thread_index() + 1; }
    ProcessIndex process() { return kNoProcess; }
    template <class Record>
    bool waits_in_vain(const Record&, Nanoseconds) {
      return false;
    }
    void wake(Record& record);
    void pin(Record& record, CoreIndex core) { record.pinned_to = core; }
    CoreIndex leaves = kNoCore;  // its thread is about to, in this scene
    CoreIndex core_about_to_leave() const {
      return rl::thread_index() == leaves ? leaves : kNoCore;
    }
    void relax(unsigned spins) { World::relax(spins); }
  };
  using TheLedger = Ledger<World, Os>;

  const Policy* policy;
  Kernel kernel;
  CoreSlot<World> cores[kCores];
  CoreInfo info[kCores];
  Record threads[kThreads];
  Fifo fifos[kCores * kProcesses];
  MaskWord<World> idle[1], queued[1], contended[1], on_trial[1];
  // Shadows of plain fields: a core's policy words belong to its owner, a queue to its lock. `work`
  // is what threads do with a core: never two at a time, and each sees what the last one did.
  rl::var<int> words[kCores], queue[kCores], work[kCores];
  // A thread the watchdog takes a core from may still be looking at the core's policy words: a race
  // that costs at worst a turn, since the words hold no index and are never relied on.
  bool watch_words = true;
  // Nor are queues those of one holder of the lock where it is taken from who is stopped.
  bool watch_queues = true;
  bool overtaken = false;  // somebody may be, in this scene
  Os os;
  TheLedger ledger{tables(), os};

  explicit Instance(const Policy& policy = kPolicy) : policy(&policy) {
    instance = this;
    for (CoreIndex core = 0; core < kCores; ++core) {
      info[core] = {core, 0, 0, 0, 0, kCores};
      for (std::uint64_t& word : cores[core].policy_words) word = 0;
      for (std::uint64_t& word : cores[core].ready_processes) word = 0;
      cores[core].policy_shared.store(0, std::memory_order_relaxed);
      cores[core].attended_ns.store(0, std::memory_order_relaxed);
      cores[core].late_until_ns.store(0, std::memory_order_relaxed);
      words[core]($) = 0;
      queue[core]($) = 0;
      work[core]($) = 0;
      set(idle, core, true);
      set(contended, core, false);
      set(on_trial, core, false);
    }
    for (Fifo& fifo : fifos) fifo = {kNoThread, kNoThread, 0};
    for (ThreadIndex i = 0; i < kThreads; ++i) {
      Record& record = threads[i];
      record.next = kNoThread;
      record.process = static_cast<ProcessIndex>(i % kProcesses);
      record.last_core = static_cast<CoreIndex>(i % kCores);
      record.pinned_to = kNoCore;
      record.ready_ns = 0;
      record.counters = {};
      record.guest.store(0, std::memory_order_relaxed);
      for (std::uint64_t& word : record.policy_words) word = 0;
      record.state.store(static_cast<std::uint32_t>(State::blocked), std::memory_order_relaxed);
    }
  }

  LedgerTables<World> tables() {
    // NEST's, of which coop has the first three: the reserve nest holds one core.
    static constexpr std::uint64_t kParameters[] = {10, 0, 0, 1000, 1, 2};
    return {cores,      info,     threads, fifos,       idle,      queued,  kCores,
            kProcesses, kThreads, policy,  kParameters, contended, on_trial};
  }

  // To set the scene, before the threads start.
  void start_running(ThreadIndex thread, CoreIndex core) {
    threads[thread].state.store(running_on(core), std::memory_order_relaxed);
    threads[thread].last_core = core;
    cores[core].owner.store(thread + 1, std::memory_order_relaxed);
    set(idle, core, false);
  }
  void start_ready(ThreadIndex thread, CoreIndex core) {
    threads[thread].state.store(ready_in_hands_of(queue_of_core(core)), std::memory_order_relaxed);
    ledger.rebuild(core);
  }
  // The bit of a queue may outlive the queue's threads.
  void start_stale(CoreIndex core) { set(queued, core, true); }

  // What threads do, as sched/runtime.cc does it; without waiting for a grant.
  bool running(ThreadIndex thread) {
    return state_of(threads[thread].state.load(std::memory_order_acquire)) == State::running;
  }
  void block(ThreadIndex thread) {
    Held held = ledger.core_of(thread);
    if (begin_block(threads[thread]).block == Block::release) ledger.release(held);
  }
  // Blocks and attends the core that it leaves idle, for no time at all.
  void attend(ThreadIndex thread) {
    Held held = ledger.core_of(thread);
    if (begin_block(threads[thread]).block != Block::release) return;
    if (ledger.release_to_attend(held, false)) ledger.end_attendance(held.core);
  }
  void wake(ThreadIndex thread) {
    if (unpark(threads[thread], os.self())) ledger.make_ready(thread);
  }
  // What a keeper does (sched/contention.cc).
  void set_aside(CoreIndex core) { set_bit(contended, core); }
  void put_back(CoreIndex core) {
    clear_bit(contended, core);
    ledger.serve_free(core);
  }
  void yield(ThreadIndex thread) {
    Held held = ledger.core_of(thread);
    if (held.core == kNoCore) return;
    auto result = ledger.yield(thread, held, 0);
    if (result == TheLedger::YieldResult::lost_core) ledger.make_ready(thread);
  }
  // What a leader does with what somebody does not go on with (sched/overtaking.h); any look at all
  // may be the second at which it is so.
  void overtake_core(CoreIndex core) {
    Held held{core, cores[core].owner.load(std::memory_order_acquire)};
    if (ledger.is_in_transit(held)) ledger.overtake_core(held);
  }
  void overtake_thread(ThreadIndex thread) {
    std::uint32_t word = threads[thread].state.load(std::memory_order_relaxed);
    if (ledger.is_in_others_hands(word)) ledger.overtake_thread(thread, holder_of(word));
  }
  void mend_hints() {
    for (CoreIndex core = 0; core < kCores; ++core) ledger.mend_hints(core);
  }
  bool find_queued() { return ledger.find_queued(); }
  void rescue(ThreadIndex thread) {
    std::uint32_t word = threads[thread].state.load(std::memory_order_acquire);
    if (state_of(word) == State::running) ledger.rescue(core_of(word), thread);
  }
  void end(ThreadIndex thread) {
    Held held = ledger.leave_core(thread, State::detached);
    if (held.core != kNoCore) ledger.release(held, true);
  }

  // The same with waiting: returns when the thread has a core.
  void wait_for_grant(ThreadIndex thread) {
    for (;;) {
      std::uint32_t word = announce_sleep(threads[thread]);
      if (state_of(word) == State::running) break;
      if (state_of(word) == State::external) {
        hold_ready(threads[thread], party_of_thread(thread));
        ledger.make_ready(thread);
        continue;
      }
      kernel.wait(threads[thread].state, word);
    }
  }
  void park(ThreadIndex thread) {
    Held held = ledger.core_of(thread);
    Block block = begin_block(threads[thread]).block;
    if (block == Block::permit) return;
    if (block == Block::release) ledger.release(held);
    wait_for_grant(thread);
  }
  // Does something with the core the thread has.
  void compute(ThreadIndex thread) {
    std::uint32_t word = threads[thread].state.load(std::memory_order_relaxed);
    RL_ASSERT(state_of(word) == State::running);
    work[core_of(word)]($) = static_cast<int>(thread);
  }

  // At every instant: no two threads RUNNING on one core.
  void invariant() {
    unsigned taken = 0;
    for (Record& record : threads) {
      std::uint32_t word = record.state.load(std::memory_order_relaxed);
      if (state_of(word) != State::running) continue;
      RL_ASSERT(!(taken >> core_of(word) & 1));
      taken |= 1u << core_of(word);
    }
  }

  // At rest: one RUNNING thread a core, every READY thread in one queue, and no core free while a
  // thread waits.
  void check() {
    unsigned ready = 0;
    for (ThreadIndex i = 0; i < kThreads; ++i) {
      std::uint32_t word = threads[i].state.load();
      if (state_of(word) == State::running) {
        RL_ASSERT(core_of(word) < kCores &&
                  thread_of_owner(cores[core_of(word)].owner.load()) == i);
      }
      if (state_of(word) == State::ready) ++ready;
    }
    unsigned queued_threads = 0;
    for (CoreIndex core = 0; core < kCores; ++core) {
      std::uint32_t owner = cores[core].owner.load();
      RL_ASSERT(!(owner & kClaimedCore) && party_of_owner(owner) <= kThreads);
      bool is_idle = idle[0].bits.load() >> core & 1;
      RL_ASSERT(is_idle || owner != 0);
      RL_ASSERT(!is_idle || owner == 0 || overtaken);  // who was overtaken may leave a wrong bit
      RL_ASSERT(owner != 0 || ready == 0);
      if (owner) RL_ASSERT(runs_on(thread_of_owner(owner), core));
      unsigned here = 0;
      ledger.visit_queue(core, [&](ThreadIndex thread) {
        RL_ASSERT(queue_of(threads[thread].state.load()) == core);
        ++here;
      });
      RL_ASSERT(here == cores[core].ready.load());
      RL_ASSERT(here == 0 || (queued[0].bits.load() >> core & 1));
      queued_threads += here;
    }
    RL_ASSERT(queued_threads == ready);
  }
  bool runs_on(ThreadIndex thread, CoreIndex core) {
    std::uint32_t word = threads[thread].state.load();
    return state_of(word) == State::running && core_of(word) == core;
  }

 private:
  static void set(MaskWord<World>* mask, CoreIndex core, bool value) {
    std::uint64_t bits = mask[0].bits.load(std::memory_order_relaxed) & ~(1ull << core);
    mask[0].bits.store(bits | std::uint64_t{value} << core, std::memory_order_relaxed);
  }

  // First come, first served by process, and a witness of who touches what.
  static CoreIndex thread_ready(const PolicyContext&, CoreIndex last_core, std::uint64_t*,
                                CoreView&) {
    return last_core;
  }
  static ProcessIndex core_free(const PolicyContext&, CoreIndex core, CoreIndex from,
                                std::uint64_t*, const QueueView& queues) {
    if (instance->watch_words) instance->words[core]($) = 1;
    if (instance->watch_queues) instance->queue[from]($) = 1;
    return queues.next_after(kNoProcess);
  }
  static void thread_granted(const PolicyContext&, CoreIndex core, ProcessIndex, std::uint64_t*) {
    if (instance->watch_words) instance->words[core]($) = 2;
  }
  static constexpr Policy kPolicy = {"model", "",           nullptr,   0,
                                     0,       thread_ready, core_free, thread_granted};
};

inline void Instance::Os::wake(Record& record) { instance->kernel.wake(&record.state); }

}  // namespace roost::model
