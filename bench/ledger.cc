// The ledger alone, at core counts we do not have: what an operation costs in instructions that
// other cores can feel, and in time on one core.
//
// Every operation runs twice: once in a world that notes each atomic operation and each cache line
// of the tables touched (lines that only plain code writes are found by comparing the tables before
// and after), and then timed with the real atomics. Kernel calls and the clock are left out.
//
//   rmw, fence   locked instructions and full fences; loads and stores are free of that
//   own          lines of the core's slot and queues        thread  lines of thread records
//   other        lines of other cores' slots and queues     shared  lines of the two masks
//   _w           how many of those were written; `shared_w` is what cores could fight over
#include "sched/ledger.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "policy/coop.h"

namespace roost {
namespace {

using Line = std::uintptr_t;

struct Log {
  bool on = false;
  unsigned rmws = 0, fences = 0;
  std::map<Line, bool> lines;  // true: written

  void touch(const void* address, bool write) {
    if (on) lines[reinterpret_cast<Line>(address) / kCacheLine] |= write;
  }
  void modify(const void* address) {
    if (on) ++rmws;
    touch(address, true);
  }
};
Log log_;

struct CountingWorld {
  template <class T>
  struct atomic {
    T load(std::memory_order = {}) const {
      log_.touch(this, false);
      return value;
    }
    void store(T wanted, std::memory_order = {}) {
      log_.touch(this, true);
      value = wanted;
    }
    bool compare_exchange_strong(T& expected, T wanted, std::memory_order, std::memory_order) {
      log_.modify(this);
      bool same = value == expected;
      (same ? value : expected) = same ? wanted : value;
      return same;
    }
    T fetch_or(T bits, std::memory_order) { return change(value | bits); }
    T fetch_and(T bits, std::memory_order) { return change(value & bits); }
    T fetch_add(T more, std::memory_order) { return change(value + more); }
    T fetch_sub(T less, std::memory_order) { return change(value - less); }
    T change(T wanted) {
      log_.modify(this);
      return std::exchange(value, wanted);
    }
    T value;
  };
  static void fence() {
    if (log_.on) ++log_.fences;
  }
};
static_assert(sizeof(CoreSlot<CountingWorld>) == sizeof(CoreSlot<RealWorld>));
static_assert(sizeof(ThreadRecord<CountingWorld>) == sizeof(ThreadRecord<RealWorld>));

// A machine whose cores are all taken: thread i of process i % 2 runs on core i.
template <class W>
class Machine {
 public:
  static constexpr unsigned kProcesses = kMaxProcesses;
  struct alignas(kCacheLine) Fifos {
    Fifo of[kProcesses];
  };

  Machine(CoreIndex n_cores, CoreIndex nodes)
      : cores(n_cores), info(n_cores), threads(n_cores + 2u), fifos(n_cores), ledger(tables(), os) {
    auto width = static_cast<CoreIndex>(n_cores / nodes);
    for (Fifos& table : fifos) {
      for (Fifo& fifo : table.of) fifo = {kNoThread, kNoThread, 0};
    }
    for (CoreIndex core = 0; core < n_cores; ++core) {
      auto first = static_cast<CoreIndex>(core / width * width);
      auto node = static_cast<std::uint16_t>(core / width);
      info[core] = {core, node, node, node, first, static_cast<CoreIndex>(first + width)};
      masks.idle[core / 64].bits.fetch_or(1ull << (core % 64), std::memory_order_relaxed);
    }
    for (ThreadIndex i = 0; i < threads.size(); ++i) {
      threads[i].process = static_cast<ProcessIndex>(i % 2);
      threads[i].last_core = static_cast<CoreIndex>(i % n_cores);
      threads[i].next = kNoThread;
      threads[i].pinned_to = kNoCore;
      threads[i].state.store(static_cast<std::uint32_t>(State::blocked), std::memory_order_relaxed);
    }
    for (ThreadIndex i = 0; i < n_cores; ++i) wake(i);
  }

  void wake(ThreadIndex thread) {
    if (unpark(threads[thread], 1)) ledger.make_ready(thread);
  }
  void block(ThreadIndex thread) {
    Held held = ledger.core_of(thread);
    if (begin_block(threads[thread]).block == Block::release) ledger.release(held);
  }
  void yield(ThreadIndex thread) { ledger.yield(thread, ledger.core_of(thread), 0); }
  // Of the first core.
  ThreadIndex owner() const {
    return thread_of_owner(cores[0].owner.load(std::memory_order_relaxed));
  }
  CoreIndex n_cores() const { return static_cast<CoreIndex>(cores.size()); }

  struct Os {
    Nanoseconds clock = 0;
    Nanoseconds now() { return clock += 1000; }
    Party self() { return 1; }
    ProcessIndex process() { return kNoProcess; }
    template <class Record>
    bool waits_in_vain(const Record&, Nanoseconds) {
      return false;
    }
    void wake(ThreadRecord<W>&) {}
    void pin(ThreadRecord<W>&, CoreIndex) {}
    void relax(unsigned) {}
  };
  struct Masks {
    MaskWord<W> idle[16], queued[16], contended[16], on_trial[16];
  };

  Os os;
  std::vector<CoreSlot<W>> cores;
  std::vector<CoreInfo> info;
  std::vector<ThreadRecord<W>> threads;
  std::vector<Fifos> fifos;  // of each core
  Masks masks{};
  Ledger<W, Os> ledger;

 private:
  // coop, noting the lines it reads of the queue it is shown.
  static ProcessIndex core_free(const PolicyContext& context, CoreIndex core, CoreIndex from,
                                std::uint64_t* words, const QueueView& queues) {
    if (log_.on) log_.touch(words + sizeof(CoreSlot<W>) / 8 * (from - core) + 6, false);
    return coop::core_free(context, core, from, words, queues);
  }
  LedgerTables<W> tables() {
    static constexpr std::uint64_t kParameters[] = {20'000'000, 0};
    static constexpr Policy kPolicy = {
        "coop", "", nullptr, 0, 0, coop::thread_ready, core_free, coop::thread_granted};
    return {cores.data(),
            info.data(),
            threads.data(),
            fifos.data()->of,
            masks.idle,
            masks.queued,
            static_cast<CoreIndex>(cores.size()),
            kProcesses,
            static_cast<ThreadIndex>(threads.size()),
            &kPolicy,
            kParameters,
            masks.contended,
            masks.on_trial};
  }
};

// A part of the tables, with a copy from before the operation.
class Region {
 public:
  Region(const void* begin, std::size_t bytes)
      : begin_(static_cast<const unsigned char*>(begin)), before_(begin_, begin_ + bytes) {}
  bool holds(Line line) const {
    return line >= address() / kCacheLine && line <= (address() + before_.size() - 1) / kCacheLine;
  }
  void note_writes() const {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (begin_[i] != before_[i]) log_.touch(begin_ + i, true);
    }
  }

 private:
  Line address() const { return reinterpret_cast<Line>(begin_); }
  const unsigned char* begin_;
  std::vector<unsigned char> before_;
};

template <class T>
Region region(const std::vector<T>& table, std::size_t first, std::size_t count) {
  return Region(table.data() + first, count * sizeof(T));
}

// Runs `operation` of core 0 once in the counting world.
template <class Prepare, class Operation>
void count(benchmark::State& state, const Prepare& prepare, const Operation& operation) {
  auto nodes = static_cast<CoreIndex>(state.range(1));
  Machine<CountingWorld> machine(static_cast<CoreIndex>(state.range(0)), nodes);
  prepare(machine);
  operation(machine, true);  // once unseen, so that a queue's bit has the state it keeps
  operation(machine, false);
  const char* const names[] = {"own", "own", "thread", "other", "other", "shared"};
  Region regions[] = {region(machine.cores, 0, 1),
                      region(machine.fifos, 0, 1),
                      region(machine.threads, 0, machine.threads.size()),
                      region(machine.cores, 1, machine.cores.size() - 1),
                      region(machine.fifos, 1, machine.fifos.size() - 1),
                      Region(&machine.masks, sizeof machine.masks)};
  log_ = Log{};
  log_.on = true;
  operation(machine, true);
  for (const Region& r : regions) r.note_writes();
  log_.on = false;
  auto& counters = state.counters;
  counters["rmw"] = log_.rmws;
  counters["fence"] = log_.fences;
  for (const char* name : {"own", "thread", "other", "shared"}) {
    counters[name] = counters[std::string(name) + "_w"] = 0;
  }
  for (auto [line, written] : log_.lines) {
    for (std::size_t i = 0; i < std::size(regions); ++i) {
      if (!regions[i].holds(line)) continue;
      counters[names[i]] += 1;
      counters[std::string(names[i]) + "_w"] += written;
      break;
    }
  }
}

// `operation(machine, true)` is what is counted, `operation(machine, false)` undoes it. The time is
// that of both together.
template <class Prepare, class Operation>
void run(benchmark::State& state, const Prepare& prepare, const Operation& operation) {
  count(state, prepare, operation);
  Machine<RealWorld> machine(static_cast<CoreIndex>(state.range(0)),
                             static_cast<CoreIndex>(state.range(1)));
  prepare(machine);
  for (auto _ : state) {
    operation(machine, true);
    operation(machine, false);
  }
}

// Thread n is the guest of core 0, where thread 0 runs; n + 1 that of the last core.
template <class M>
ThreadIndex guest(const M& machine) {
  return machine.n_cores();
}
template <class M>
void send_home(M& machine, ThreadIndex thread, CoreIndex core) {
  machine.threads[thread].last_core = core;
}

void hand_off(benchmark::State& state) {
  run(
      state, [](auto& m) { m.wake(guest(m)); },
      [](auto& m, bool forward) {
        ThreadIndex running = m.owner();
        if (forward) {
          m.block(running);
        } else {
          m.wake(guest(m) - running);
        }
      });
}

void queue_on_busy_core(benchmark::State& state) {
  run(
      state, [](auto&) {},
      [](auto& m, bool forward) {
        ThreadIndex running = m.owner();
        ThreadIndex other = guest(m) - running;
        forward ? m.wake(other) : m.block(running);
      });
}

void go_idle(benchmark::State& state) {
  run(
      state, [](auto&) {}, [](auto& m, bool forward) { forward ? m.block(0) : m.wake(0); });
}

void claim_idle_core(benchmark::State& state) {
  run(
      state, [](auto& m) { m.block(0); },
      [](auto& m, bool forward) { forward ? m.wake(0) : m.block(0); });
}

// Core 0 has nothing to do and takes the thread that waits on the last core.
void steal_from_last_core(benchmark::State& state) {
  run(
      state,
      [](auto& m) {
        send_home(m, guest(m), static_cast<CoreIndex>(m.n_cores() - 1));
        m.wake(guest(m));
      },
      [](auto& m, bool forward) {
        if (forward) {
          m.block(0);
        } else {
          m.block(guest(m));
          m.wake(0);
          send_home(m, guest(m), static_cast<CoreIndex>(m.n_cores() - 1));
          m.wake(guest(m));
        }
      });
}

void yield_to_own_queue(benchmark::State& state) {
  run(
      state, [](auto& m) { m.wake(guest(m)); }, [](auto& m, bool) { m.yield(m.owner()); });
}

void yield_alone(benchmark::State& state) {
  run(
      state, [](auto&) {}, [](auto& m, bool) { m.yield(0); });
}

void machines(benchmark::internal::Benchmark* b) {
  b->ArgNames({"cores", "nodes"});
  for (auto [cores, nodes] : {std::pair{2, 1}, {8, 1}, {64, 2}, {192, 8}}) b->Args({cores, nodes});
}
BENCHMARK(hand_off)->Apply(machines);
BENCHMARK(queue_on_busy_core)->Apply(machines);
BENCHMARK(go_idle)->Apply(machines);
BENCHMARK(claim_idle_core)->Apply(machines);
BENCHMARK(steal_from_last_core)->Apply(machines);
BENCHMARK(yield_to_own_queue)->Apply(machines);
BENCHMARK(yield_alone)->Apply(machines);

}  // namespace
}  // namespace roost

BENCHMARK_MAIN();
