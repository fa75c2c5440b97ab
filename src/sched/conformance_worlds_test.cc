// The properties of conformance_test.h for every policy, with real threads: on the ledger alone, in
// a process, and in processes that share an instance. The simulator's part is in
// sim/conformance_test.cc.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>
#include <thread>

#include "os/child_test.h"
#include "os/sys.h"
#include "policy/nest.h"
#include "sched/all_policies_test.h"
#include "sched/conformance_test.h"
#include "sched/joined_test.h"
#include "sched/planted_policies_test.h"
#include "sched/runtime.h"
#include "sched/threads_os_test.h"
#include "segment/instance_test.h"

namespace roost {
namespace {

using conformance::Event;
using conformance::Log;
using conformance::Promises;
using conformance::verdict;

constexpr std::uint32_t kEvents = 1u << 18;

// Memory that forked children share.
template <class T>
T* shared_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return static_cast<T*>(memory);
}

class SharedLog {
 public:
  SharedLog() : memory_(shared_memory<void>(Log::bytes(kEvents))), log(Log::in(memory_, kEvents)) {}
  ~SharedLog() { munmap(memory_, Log::bytes(kEvents)); }
  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;

 private:
  void* memory_;

 public:
  Log& log;
};

struct Pair {
  std::atomic<std::uint32_t> turn;         // 0 or 1: whose
  std::atomic<std::uint32_t> by_index[2];  // what wakes them, + 1; 0: not there yet
};

// A bit for each core without a thread, as the ledger has it.
std::uint64_t idle_cores(const CoreSlot<RealWorld>* cores, CoreIndex n_cores) {
  std::uint64_t idle = 0;
  for (CoreIndex core = 0; core < n_cores; ++core) {
    std::uint32_t owner = cores[core].owner.load(std::memory_order_relaxed);
    idle |= std::uint64_t{owner == 0 || (owner & kClaimedCore)} << core;
  }
  return idle;
}

// What pairs of threads do: each has its turn, computes for a while, at times yields, and wakes the
// other. A Seat is a thread in its world: note(kind of event), yield(), park() and wake(index of
// the other in the ledger).
template <class Seat>
void live(Seat& seat, Pair& pair, unsigned side, unsigned rounds, unsigned seed) {
  std::minstd_rand random(seed * 977 + seat.index());
  auto compute = [&](Nanoseconds ns) {
    for (Nanoseconds end = os::now() + ns; os::now() < end;) cpu_pause();
  };
  for (unsigned round = 0; round < rounds; ++round) {
    while (pair.turn.load() != side) {
      seat.note(Event::leaves);
      seat.park();
      seat.note(Event::runs);
    }
    compute(random() % 40'000);
    for (unsigned yields = random() % 4; yields; --yields) {
      seat.note(Event::leaves);
      seat.note(Event::ready);
      seat.yield();
      seat.note(Event::runs);
      compute(random() % 10'000);
    }
    pair.turn.store(1 - side);
    bool last = side == 1 && round + 1 == rounds;  // the other one is gone
    std::uint32_t partner = last ? 0 : pair.by_index[1 - side].load();
    if (partner) seat.wake(partner - 1);
  }
}

// ---- on the ledger alone ----

struct LedgerSeat {
  ThreadsInstance& instance;
  Log& log;
  ThreadIndex self;

  ThreadIndex index() const { return self; }
  void note(Event::Kind kind) { note_of(self, kind, instance.core(self)); }
  void note_of(ThreadIndex thread, Event::Kind kind, CoreIndex core = kNoCore) {
    log.add(os::now(), kind, thread, instance.threads[thread].process, core,
            idle_cores(instance.cores.data(), instance.machine.n_cores()));
  }
  void wait_for_grant() {
    TestRecord& record = instance.threads[self];
    for (;;) {
      std::uint32_t word = announce_sleep(record);
      if (state_of(word) == State::running) return;
      os::futex_wait(&record.state, word, os::FutexScope::process);
    }
  }
  void park() {
    Held held = instance.ledger.core_of(self);
    if (begin_block(instance.threads[self]).block == Block::permit) return;
    instance.ledger.release(held);
    wait_for_grant();
  }
  void yield() {
    if (instance.yield(self, 1000)) wait_for_grant();
  }
  void wake(ThreadIndex other) {
    note_of(other, Event::ready);
    instance.wake(other);
  }
};

// What is found of `policy` with pairs of threads of three processes.
std::string on_the_ledger(const Policy& policy, TestMachine machine, unsigned n_threads,
                          unsigned rounds, Promises promises) {
  SharedLog record;
  ThreadsInstance instance(machine, n_threads, policy);
  instance.set("quantum", promises.quantum);
  if (promises.quantum) instance.set("brief", 0);  // the promise is of turns without interludes
  std::vector<Pair> pairs(n_threads / 2);
  for (ThreadIndex i = 0; i < n_threads; ++i) {
    instance.place(i, static_cast<ProcessIndex>(i / 2 % 3),
                   static_cast<CoreIndex>(i % machine.n_cores()));
    change_state(instance.threads[i], State::external);
    pairs[i / 2].by_index[i % 2] = i + 1;
  }
  std::vector<std::thread> threads;
  for (ThreadIndex i = 0; i < n_threads; ++i) {
    threads.emplace_back([&, i] {
      my_index = i;
      LedgerSeat seat{instance, record.log, i};
      seat.note(Event::ready);
      instance.from_kernel(i);
      seat.wait_for_grant();
      seat.note(Event::runs);
      live(seat, pairs[i / 2], i % 2, rounds, 1);
      seat.note(Event::ends);
      instance.to_kernel(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  promises.n_cores = machine.n_cores();
  return verdict(record.log, promises);
}

// ---- in the runtime ----

struct RuntimeSeat {
  Log& log;
  ThreadIndex id;
  unsigned n_processes;

  static ProcessIndex process_of(ThreadIndex id, unsigned n_processes) {
    unsigned apart = id / 2 % 2 ? id % 2 : 0;  // the partners of every second pair
    return static_cast<ProcessIndex>((id / 2 + apart) % n_processes);
  }
  ThreadIndex index() const { return id; }
  void note(Event::Kind kind) {
    note_of(id, kind, self.record ? core_of(self.record->state.load()) : kNoCore);
  }
  void note_of(ThreadIndex thread, Event::Kind kind, CoreIndex core = kNoCore) {
    const Segment& segment = runtime_segment();
    log.add(os::now(), kind, thread, process_of(thread, n_processes), core,
            // A core that is left to other programs on this machine is as good as busy.
            idle_cores(segment.cores, segment.header->n_cores) &
                ~segment.header->contended[0].bits.load());
  }
  void park() { roost::park(nullptr, false); }
  void yield() { yield_core(); }
  void wake(ThreadIndex partner) {
    note_of(id ^ 1, Event::ready);
    unpark(partner);
  }
};

struct Shared {
  Pair pairs[16];
  std::atomic<unsigned> present;  // processes
};

// The threads of `process`, from their first core to their last. The caller waits without one.
void run_threads(Log& log, Shared& shared, ProcessIndex process, unsigned n_processes,
                 unsigned n_threads, unsigned rounds) {
  enter_external();
  for (++shared.present; shared.present < n_processes;) std::this_thread::yield();
  std::vector<std::thread> threads;
  for (ThreadIndex id = 0; id < n_threads; ++id) {
    if (RuntimeSeat::process_of(id, n_processes) != process) continue;
    RuntimeSeat seat{log, id, n_processes};
    threads.emplace_back([&, seat]() mutable {
      Pair& pair = shared.pairs[seat.id / 2];
      seat.note(Event::ready);
      if (!thread_attach()) _exit(1);
      seat.note(Event::runs);
      pair.by_index[seat.id % 2] = self.index + 1;
      live(seat, pair, seat.id % 2, rounds, 2);
      seat.note(Event::ends);
      thread_detach();
    });
  }
  for (std::thread& thread : threads) thread.join();
  leave_external();
  runtime_stop();
}

// As an instance that `roost run` would make; nobody shares a core, however busy this machine is.
void describe(SegmentConfig& config, const Policy& policy, Nanoseconds quantum) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  std::uint16_t cpu = 0;
  for (CoreIndex core = 0; core < config.n_cores; ++core) {
    while (!CPU_ISSET(cpu, &mask)) cpu = static_cast<std::uint16_t>((cpu + 1) % CPU_SETSIZE);
    config.cores[core].os_cpu = cpu;
    cpu = static_cast<std::uint16_t>((cpu + 1) % CPU_SETSIZE);
  }
  config.policy = policy.name;
  config.policy_layout = policy.layout;
  if (const PolicyFile* file = file_of(policy)) {
    config.policy_path = file->path;
    config.policy_hash = file->hash;
  }
  for (unsigned i = 0; i < policy.n_parameters; ++i) {
    const PolicyParameter& parameter = policy.parameters[i];
    config.parameters[i] = parameter.standard;
    if (parameter.name == std::string("patience")) config.parameters[i] = parameter.maximum;
    if (parameter.name == std::string("quantum")) config.parameters[i] = quantum;
    if (parameter.name == std::string("brief") && quantum) config.parameters[i] = 0;
  }
}

std::string in_the_runtime(const Policy& policy, CoreIndex n_cores, unsigned n_processes,
                           unsigned rounds, Promises promises) {
  constexpr unsigned kThreads = 12;
  SharedLog record;
  auto* shared = shared_memory<Shared>(sizeof(Shared));
  TestInstance instance(n_cores);
  describe(instance.config(), policy, promises.quantum);
  std::string trouble = in_child([&]() -> std::string {
    if (runtime_start(instance.config(), kLibc) != 0)
      return std::string("no: ") + runtime_refusal();
    std::vector<pid_t> children;
    for (unsigned process = 1; process < n_processes; ++process) {
      pid_t pid = fork();
      if (pid == 0) {
        runtime_after_fork();
        if (!runtime_active()) _exit(1);
        run_threads(record.log, *shared, static_cast<ProcessIndex>(process), n_processes, kThreads,
                    rounds);
        _exit(0);
      }
      children.push_back(pid);
    }
    run_threads(record.log, *shared, 0, n_processes, kThreads, rounds);
    for (pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) return "a child ended with status " + std::to_string(status);
    }
    return "";
  });
  munmap(shared, sizeof(Shared));
  if (!trouble.empty()) return trouble;
  promises.n_cores = n_cores;
  return verdict(record.log, promises);
}

// ---- what is promised ----

// However busy the machine is that runs these tests.
constexpr Nanoseconds kPatience = 500'000'000;
constexpr Promises kCoresAreBusy = {.patience = kPatience, .events = 2000, .sees_idle = true};
constexpr Promises kWaitsAreBounded = {.turns = true, .turn_patience = kPatience};
constexpr Promises kQuantum = {.quantum = 1'000'000};

class Worlds : public testing::TestWithParam<const Policy*> {
 protected:
  const Policy& policy() const { return *GetParam(); }
  bool has_quantum() const { return find_parameter(policy(), "quantum") >= 0; }
};

TEST_P(Worlds, threads_on_the_ledger_keep_cores_busy_and_lose_nobody) {
  EXPECT_EQ(on_the_ledger(policy(), {2, 2}, 12, 150, kCoresAreBusy), "");
}

TEST_P(Worlds, threads_on_one_core_of_the_ledger_wait_for_a_bounded_time) {
  EXPECT_EQ(on_the_ledger(policy(), {1, 1}, 12, 100, kWaitsAreBounded), "");
}

TEST_P(Worlds, threads_on_one_core_of_the_ledger_have_their_quantum) {
  if (!has_quantum()) GTEST_SKIP() << "this policy has none";
  EXPECT_EQ(on_the_ledger(policy(), {1, 1}, 12, 150, kQuantum), "");
}

// In one process, and in three that share the instance.
TEST_P(Worlds, the_runtime_keeps_cores_busy_and_loses_nobody) {
  for (unsigned processes : {1u, 3u}) {
    EXPECT_EQ(in_the_runtime(policy(), 2, processes, 150, kCoresAreBusy), "") << processes;
  }
}

TEST_P(Worlds, on_one_core_of_the_runtime_the_wait_is_bounded) {
  for (unsigned processes : {1u, 3u}) {
    EXPECT_EQ(in_the_runtime(policy(), 1, processes, 100, kWaitsAreBounded), "") << processes;
  }
}

TEST_P(Worlds, on_one_core_of_the_runtime_the_quantum_is_respected) {
  if (!has_quantum()) GTEST_SKIP() << "this policy has none";
  EXPECT_EQ(in_the_runtime(policy(), 1, 3, 150, kQuantum), "");
}

INSTANTIATE_TEST_SUITE_P(Policies, Worlds, testing::ValuesIn(all_policies()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(PlantedOnTheLedger, a_policy_that_starves_is_found) {
  std::string found = on_the_ledger(planted::kStarves, {1, 1}, 12, 200, {.turns = true});
  EXPECT_NE(found.find("times while thread"), std::string::npos) << found;
}

TEST(PlantedOnTheLedger, a_policy_that_leaves_cores_idle_is_found) {
  std::string found = on_the_ledger(planted::kLeavesCoresIdle, {1, 2}, 8, 2000,
                                    {.patience = 50'000'000, .events = 1000, .sees_idle = true});
  EXPECT_NE(found.find("is idle"), std::string::npos) << found;
}

// A plug-in may starve whom it likes: that is a policy. It is found in processes, too.
TEST(PlantedInTheRuntime, a_policy_that_starves_is_found) {
  std::string found = in_the_runtime(plug_in(ROOST_BUILD_FOLDER "/tests/policies/starves.so"), 1, 3,
                                     500, {.turns = true});
  EXPECT_NE(found.find("times while thread"), std::string::npos) << found;
}

TEST(PlantedOnTheLedger, a_policy_that_ignores_the_quantum_is_found) {
  EXPECT_NE(on_the_ledger(planted::kIgnoresTheQuantum, {1, 1}, 12, 150, {.quantum = 1'000'000}),
            "");
}

}  // namespace
}  // namespace roost
