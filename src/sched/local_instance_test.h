// An instance inside one test: the ledger's tables in ordinary memory, and an Os that only notes
// what it is asked for. Threads are records; a test says what each does next.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "sched/ledger.h"
#include "sched/wait_words.h"

namespace roost {

inline constexpr Nanoseconds kMillisecond = 1'000'000;

// The machine: `nodes` NUMA nodes of `cores_per_node` cores.
struct TestMachine {
  CoreIndex nodes = 1;
  CoreIndex cores_per_node = 2;
  CoreIndex n_cores() const { return static_cast<CoreIndex>(nodes * cores_per_node); }
};

template <class W>
class FakeOsIn {
 public:
  Nanoseconds clock = 1'000'000'000;
  std::vector<const ThreadRecord<W>*> woken, pinned;

  Nanoseconds now() { return clock; }
  Party me = 1;
  Party self() { return me; }
  ProcessIndex my_process = kNoProcess;
  ProcessIndex process() { return my_process; }
  bool waits_in_vain(const ThreadRecord<W>& record, Nanoseconds waited) {
    const auto& wait = *reinterpret_cast<const WaitWords*>(record.wait_words);
    return waited < wait.patience &&
           all_unchanged(wait, [](std::uint64_t address, std::uint32_t value) {
             return read_word(address, 4) == value;
           });
  }
  void wake(ThreadRecord<W>& record) { woken.push_back(&record); }
  void pin(ThreadRecord<W>& record, CoreIndex core) {
    pinned.push_back(&record);
    record.pinned_to = core;
  }
  void relax(unsigned spins) {
    clock += 10'000;
    RealWorld::relax(spins);
  }
};
using FakeOs = FakeOsIn<RealWorld>;
using TestRecord = ThreadRecord<RealWorld>;

template <class Os, class W = RealWorld>
class LocalInstanceOn {
 public:
  using TestLedger = Ledger<W, Os>;

  LocalInstanceOn(TestMachine machine, unsigned n_threads, const Policy& policy = *kPolicies[0],
                  unsigned n_processes = 8)
      : machine(machine),
        cores(machine.n_cores()),
        info(machine.n_cores()),
        threads(n_threads),
        fifos(machine.n_cores() * n_processes, Fifo{kNoThread, kNoThread, 0}),
        n_processes(n_processes),
        ledger(tables(policy), os) {
    for (CoreIndex core = 0; core < machine.n_cores(); ++core) {
      auto node = static_cast<std::uint16_t>(core / machine.cores_per_node);
      auto first = static_cast<CoreIndex>(node * machine.cores_per_node);
      info[core] = {core, node,  node,
                    node, first, static_cast<CoreIndex>(first + machine.cores_per_node)};
      idle[core / 64].bits.fetch_or(1ull << (core % 64));
    }
    for (ThreadRecord<W>& record : threads) {
      record.next = kNoThread;
      record.pinned_to = kNoCore;
      record.state.store(static_cast<std::uint32_t>(State::blocked));
    }
  }

  // A parameter of the policy's, if it has one of that name.
  void set(const char* name, std::uint64_t value) {
    int index = find_parameter(*ledger.tables().policy, name);
    if (index >= 0) parameters[static_cast<unsigned>(index)] = value;
  }

  // Thread `thread` belongs to `process` and ran on `last` before it blocked.
  void place(ThreadIndex thread, ProcessIndex process, CoreIndex last = 0) {
    threads[thread].process = process;
    threads[thread].last_core = last;
  }

  State state(ThreadIndex thread) const { return state_of(threads[thread].state.load()); }
  // The core it runs on, kNoCore if it does not run.
  CoreIndex core(ThreadIndex thread) const {
    std::uint32_t word = threads[thread].state.load();
    return state_of(word) == State::running ? core_of(word) : kNoCore;
  }
  // The thread that has the core, kNoThread if it is free.
  ThreadIndex owner(CoreIndex core) const { return thread_of_owner(cores[core].owner.load()); }

  // What threads do, without waiting.
  void wake(ThreadIndex thread) {
    if (unpark(threads[thread], os.self())) ledger.make_ready(thread);
  }
  void block(ThreadIndex thread) {
    Held held = ledger.core_of(thread);
    if (begin_block(threads[thread]).block == Block::release) ledger.release(held);
  }
  bool yield(ThreadIndex thread, Nanoseconds steal_age = 0, CoreIndex seat = kNoCore) {
    Held held = ledger.core_of(thread);
    return held.core != kNoCore &&
           ledger.yield(thread, held, steal_age, seat) == TestLedger::YieldResult::handed_over;
  }
  void to_kernel(ThreadIndex thread) {
    Held held = ledger.leave_core(thread, State::external);
    if (held.core != kNoCore) ledger.release(held);
  }
  void from_kernel(ThreadIndex thread) {
    hold_ready(threads[thread], os.self());
    ledger.make_ready(thread);
  }

  std::vector<ThreadIndex> queue(CoreIndex core) {
    std::vector<ThreadIndex> found;
    ledger.visit_queue(core, [&](ThreadIndex thread) { found.push_back(thread); });
    return found;
  }

  // What must hold whenever nobody is inside the ledger. Empty if it does.
  std::string broken() {
    std::vector<int> queued(threads.size());
    bool free_core = false;
    for (CoreIndex c = 0; c < machine.n_cores(); ++c) {
      std::uint32_t owner_word = cores[c].owner.load();
      if (owner_word & kClaimedCore) return "core " + std::to_string(c) + " is left claimed";
      bool is_free = owner_word == 0;
      free_core |= is_free;
      bool stale = may_be_overtaken && !is_free;
      if (!stale && has_bit(idle, c) != is_free) {
        return "the idle bit of core " + std::to_string(c) + " is wrong";
      }
      if (!is_free && core(owner(c)) != c) {
        return "core " + std::to_string(c) + " is owned by thread " + std::to_string(owner(c)) +
               ", which does not run there";
      }
      std::vector<ThreadIndex> here = queue(c);
      for (ThreadIndex thread : here) ++queued[thread];
      if (here.size() != cores[c].ready.load()) return "wrong count of queued threads";
      if (!here.empty() && !has_bit(queued_mask, c)) {
        return "threads wait on core " + std::to_string(c) + " and nobody can see it";
      }
    }
    for (ThreadIndex i = 0; i < threads.size(); ++i) {
      std::string name = "thread " + std::to_string(i);
      CoreIndex mine = core(i);
      if (mine != kNoCore && owner(mine) != i) return name + " runs on a core it does not own";
      if (queued[i] != (state(i) == State::ready)) return name + " is lost or queued twice";
      if (state(i) == State::ready && free_core) return name + " waits although a core is free";
    }
    return "";
  }

  bool may_be_overtaken = false;  // then the idle bit of a core that is owned may be set
  TestMachine machine;
  Os os;
  std::vector<CoreSlot<W>> cores;
  std::vector<CoreInfo> info;
  std::vector<ThreadRecord<W>> threads;
  std::vector<Fifo> fifos;
  MaskWord<W> idle[16] = {}, queued_mask[16] = {}, contended[16] = {}, on_trial[16] = {};
  unsigned n_processes;
  std::uint64_t parameters[16] = {};
  TestLedger ledger;

 private:
  LedgerTables<W> tables(const Policy& policy) {
    for (unsigned i = 0; i < policy.n_parameters; ++i)
      parameters[i] = policy.parameters[i].standard;
    return {cores.data(),      info.data(), threads.data(),
            fifos.data(),      idle,        queued_mask,
            machine.n_cores(), n_processes, static_cast<ThreadIndex>(threads.size()),
            &policy,           parameters,  contended,
            on_trial};
  }
};

using LocalInstance = LocalInstanceOn<FakeOs>;

// All cores taken by threads 0 .. n-1 of process 0, thread i on core i.
inline void occupy(LocalInstance& instance) {
  for (CoreIndex core = 0; core < instance.machine.n_cores(); ++core) {
    instance.place(core, 0, core);
    instance.wake(core);
    ASSERT_EQ(instance.core(core), core);
  }
}

}  // namespace roost
