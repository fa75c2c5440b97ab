// What every scheduler must keep on random programs and machines, under all checkers; and that runs
// repeat to the byte.
#include "sched/conformance_test.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sched/all_policies_test.h"
#include "sched/planted_policies_test.h"
#include "sim/checker.h"
#include "sim/report.h"
#include "sim/roost_scheduler.h"
#include "sim/scenario.h"
#include "sim/sim_test.h"
#include "sim/trace.h"
#include "sim/world.h"

namespace roost::sim {
namespace {

Machine any_machine(Random& random) {
  auto nodes = static_cast<unsigned>(random.between(1, 3));
  Machine machine = round_machine(nodes * static_cast<unsigned>(random.between(1, 3)), nodes);
  machine.threads_per_core = static_cast<unsigned>(random.between(1, 2));
  machine.smt_permille = 600;
  machine.memory_threads = 2;
  machine.remote_permille = 1500;
  if (random.below(2)) {
    machine.control = random.below(2) ? FrequencyControl::hardware : FrequencyControl::software;
    machine.nominal_mhz = 2000;
    machine.turbo = {{1, 3000}, {16, 2500}};
    machine.frequency_update = 1'000'000;
    machine.ramp_mhz_per_ms = 300;
    machine.active_window = 2'000'000;
    machine.decay = 3'000'000;
  }
  return machine;
}

// A step or a few of a thread; never one that waits for somebody who may not come.
void add_random_steps(std::vector<Op>& ops, Random& random, std::uint32_t child) {
  auto cycles = [&] { return random.exponential(200'000) + 1; };
  switch (random.below(8)) {
    case 0:
    case 1:
      ops.push_back({OpKind::compute, static_cast<std::uint16_t>(random.below(500)), 0, cycles()});
      break;
    case 2: {
      auto mutex = static_cast<std::uint32_t>(random.below(2));
      ops.push_back({OpKind::lock, 0, mutex, 0});
      ops.push_back({OpKind::compute, 0, 0, cycles() / 4});
      if (random.below(4) == 0) ops.push_back({OpKind::yield, 0, 0, 0});
      ops.push_back({OpKind::unlock, 0, mutex, 0});
      break;
    }
    case 3:
      ops.push_back({OpKind::sleep, 0, 0, random.exponential(300'000)});
      break;
    case 4:
      ops.push_back({OpKind::io, 0, 0, random.exponential(50'000)});
      break;
    case 5:
      ops.push_back({OpKind::yield, 0, 0, 0});
      break;
    case 6:
      ops.push_back({OpKind::signal, 0, 0, random.between(1, 3)});
      ops.push_back({OpKind::wait, 0, 0, 0});
      break;
    default:
      ops.push_back(
          {random.below(3) ? OpKind::fork : OpKind::fork_process, 0, child, random.between(1, 3)});
      if (random.below(2)) ops.push_back({OpKind::join, 0, 0, 0});
  }
}

// A few processes, each with a team that meets at a barrier, threads that start others, and an
// optional phase of pure computation.
Program any_program(Random& random, bool long_computation) {
  Program program;
  program.processes = static_cast<ProcessIndex>(random.between(1, 3));
  program.mutexes = 2;
  program.semaphores = {0};
  program.devices = 1;
  program.scripts.push_back({"child", {{OpKind::compute, 0, 0, 50'000}}});
  program.scripts[0].working_set_kib = 16;
  for (ProcessIndex process = 0; process < program.processes; ++process) {
    auto members = static_cast<std::uint32_t>(random.between(1, 8));
    program.barriers.push_back(members);
    OpKind barrier =
        std::vector{OpKind::barrier, OpKind::spin_barrier, OpKind::yield_barrier}[random.below(3)];
    std::uint64_t rounds = random.between(1, 4);
    for (std::uint32_t member = 0; member < members; ++member) {
      Script script{"member", {{OpKind::repeat, 0, 0, rounds}}};
      for (std::uint64_t steps = random.below(6); steps; --steps)
        add_random_steps(script.ops, random, 0);
      if (long_computation) script.ops.push_back({OpKind::compute, 0, 0, random.below(15'000'000)});
      script.ops.push_back({barrier, 0, process, 0});
      script.ops.push_back({OpKind::again, 0, 1, 0});
      script.ops.push_back({OpKind::count, 0, 0, 1});
      auto index = static_cast<std::uint32_t>(program.scripts.size());
      program.starts.push_back({index, process, random.below(1'000'000)});
      program.scripts.push_back(script);
    }
  }
  EXPECT_EQ(program_error(program), "");
  return program;
}

// Keeps the record of a run that sched/conformance_test.h judges: here to the nanosecond.
class Recorder : public Observer {
 public:
  void time(Nanoseconds now) override { now_ = now; }
  void started(ThreadIndex thread, ProcessIndex process) override {
    process_.resize(std::max<std::size_t>(process_.size(), thread + 1));
    process_[thread] = process;
    add(Event::starts, thread);
  }
  void ready(ThreadIndex thread) override { add(Event::ready, thread); }
  void dispatched(CoreIndex core, ThreadIndex thread) override { add(Event::runs, thread, core); }
  void taken_off(CoreIndex core, ThreadIndex thread) override { add(Event::leaves, thread, core); }

  std::string verdict(const World& world, conformance::Promises promises) {
    promises.n_cores = world.n_cores();
    std::string found = conformance::verdict(log_, promises);
    log_.clear();
    return found;
  }

 private:
  using Event = conformance::Event;
  static constexpr std::uint32_t kEvents = 1u << 18;
  void add(Event::Kind kind, ThreadIndex thread, CoreIndex core = kNoCore) {
    log_.add(now_, kind, thread, process_[thread], core);
  }
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_{std::calloc(1, conformance::Log::bytes(kEvents))};
  conformance::Log& log_ = conformance::Log::in(memory_.get(), kEvents);
  Nanoseconds now_ = 0;
  std::vector<ProcessIndex> process_;
};

// What is found in a run of `program` under `scheduler`.
std::string judged(const Machine& machine, const Program& program, Scheduler& scheduler,
                   const conformance::Promises& promises) {
  static Recorder recorder;
  World world(machine, program, Governor::schedutil, scheduler);
  world.watch(recorder);
  world.run(20'000'000'000);
  return recorder.verdict(world, promises);
}

class Judged : public testing::TestWithParam<const Policy*> {
 protected:
  const Policy& policy() const { return *GetParam(); }
};

TEST_P(Judged, random_programs_lose_nobody_and_keep_cores_busy) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    Machine machine = any_machine(random);
    Program program = any_program(random, false);
    RoostScheduler scheduler(policy());
    ASSERT_EQ(judged(machine, program, scheduler, {.patience = 0}), "") << "seed " << seed;
    ASSERT_EQ(scheduler.policy_fault(), nullptr);
  }
}

// Three processes on one core, whose threads yield, sleep and wake each other.
Program three_processes(Random& random) {
  std::uint64_t compute = random.between(20'000, 2'000'000);
  return program_of(
      {{"main",
        {"repeat 60", "compute " + std::to_string(compute), "yield", "sleep 1ms", "again"},
        static_cast<std::uint32_t>(random.between(1, 4))},
       {"busy", {"repeat 200", "compute " + std::to_string(compute / 2), "yield", "again"}, 2}},
      {}, 3);
}

TEST_P(Judged, on_one_core_the_wait_is_bounded) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Program program = three_processes(random);
    RoostScheduler scheduler(policy(), {{"quantum", 0}});
    ASSERT_EQ(judged(round_machine(1), program, scheduler, {.patience = 0, .turns = true}), "")
        << "seed " << seed;
  }
}

TEST_P(Judged, on_one_core_the_quantum_is_respected) {
  if (find_parameter(policy(), "quantum") < 0) GTEST_SKIP() << "this policy has none";
  unsigned found = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Program program = three_processes(random);
    Nanoseconds quantum = random.between(1, 12) * 1'000'000;
    RoostScheduler scheduler(policy(), {{"quantum", quantum}, {"brief", 0}});
    ASSERT_EQ(judged(round_machine(1), program, scheduler, {.quantum = quantum}), "")
        << "seed " << seed;
    RoostScheduler other(policy(), {{"quantum", quantum}, {"brief", 0}});
    found += !judged(round_machine(1), program, other, {.quantum = quantum + 6'000'000}).empty();
  }
  EXPECT_GT(found, 190u) << "of 200 runs with another quantum than promised";
}

// A thread that nobody disturbs keeps its core, whichever it is and however long it sleeps.
TEST_P(Judged, a_thread_alone_returns_to_its_core) {
  for (unsigned cores : {1u, 2u, 6u}) {
    Program program = program_of(
        {{"main", {"repeat 20", "compute 300k", "sleep 1ms", "io disk 9ms", "again"}, 1}});
    RoostScheduler scheduler(policy());
    EXPECT_EQ(judged(round_machine(cores, cores > 2 ? 2 : 1), program, scheduler,
                     {.patience = 0, .affinity = true}),
              "");
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Judged, testing::ValuesIn(all_policies()),
                         [](const auto& info) { return std::string(info.param->name); });

// Each property is seen to be broken by a policy that does.
TEST(Planted, policies_are_found_out) {
  auto found = [](const Policy& policy, unsigned cores, const conformance::Promises& promises) {
    Random random(1);
    Program program = three_processes(random);
    RoostScheduler scheduler(policy);
    return judged(round_machine(cores), program, scheduler, promises);
  };
  auto expect = [&](const char* words, const std::string& sentence) {
    EXPECT_NE(sentence.find(words), std::string::npos)
        << "not \"" << words << "\" but: " << sentence;
  };
  expect("times while thread", found(planted::kStarves, 1, {.turns = true}));
  expect("is idle", found(planted::kLeavesCoresIdle, 2, {.patience = 0}));
  expect("was lost", found(planted::kLosesThreads, 2, {}));
  expect("quantum", found(planted::kIgnoresTheQuantum, 1, {.quantum = 5'000'000}));
  EXPECT_EQ(found(kCoop, 2, {.patience = 0}), "");
}

class Simulated : public testing::TestWithParam<std::string> {};

TEST_P(Simulated, random_programs_end_with_no_promise_broken) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    Machine machine = any_machine(random);
    Program program = any_program(random, seed % 4 == 0);
    RunOptions options = options_for(GetParam());
    options.seed = seed;
    options.governor = seed % 2 ? Governor::schedutil : Governor::performance;
    try {
      RunResult result = simulate(machine, program, options);
      ASSERT_TRUE(result.finished) << "seed " << seed << ": " << result.trouble;
      ASSERT_EQ(result.units, program.starts.size());
    } catch (const Violation& violation) {
      FAIL() << violation.what();
    }
  }
}

// Threads that pass a scheduling point every 300,000 ns at the latest, n of them on a machine: the
// ledger's bound (PROTOCOL.md) is n turns, with the costs of switches on top.
TEST_P(Simulated, a_ready_thread_waits_for_no_longer_than_a_bound) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    Machine machine = round_machine(static_cast<unsigned>(random.between(1, 4)));
    auto n = static_cast<std::uint32_t>(random.between(2, 20));
    Program program = program_of({{"main", {"repeat 300", "compute 300k", "yield", "again"}, n}});
    std::unique_ptr<Scheduler> scheduler = make_scheduler(options_for(GetParam()));
    World world(machine, program, Governor::schedutil, *scheduler);
    Promises promises;
    promises.longest_wait = n * 320'000 + 25'000'000;
    Checker checker(world.n_cores(), promises, &*scheduler);
    world.watch(checker);
    try {
      ASSERT_EQ(world.run(100'000'000'000), World::Outcome::finished);
    } catch (const Violation& violation) {
      FAIL() << "seed " << seed << ": " << violation.what();
    }
  }
}

// Who does I/O beside threads that compute and yield to each other waits for moments, not for their
// process's quantum.
TEST(Interludes, end_the_wait_of_processes_that_do_io) {
  Program program = program_of({{"busy", {"repeat 300", "compute 300k", "yield", "again"}, 3},
                                {"io", {"repeat 50", "compute 20k", "io disk 100us", "again"}, 0}},
                               {}, 2);
  program.starts = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 0}};
  Machine machine = round_machine(1);
  auto run = [&](Nanoseconds brief) -> std::string {
    RoostScheduler scheduler(kCoop, {{"brief", brief}});
    World world(machine, program, Governor::schedutil, scheduler);
    Promises promises;
    promises.longest_wait = 3'000'000;
    Checker checker(world.n_cores(), promises, &scheduler);
    world.watch(checker);
    try {
      world.run(20'000'000'000);
    } catch (const Violation& violation) {
      return violation.what();
    }
    return "";
  };
  EXPECT_EQ(run(1'000'000), "");
  EXPECT_NE(run(0), "") << "it waits for its turn";
}

TEST_P(Simulated, a_seed_repeats_a_run_to_the_byte) {
  for (const char* name : {"configure", "first-steps", "nested"}) {
    Scenario scenario = find_scenario(name);
    Machine machine = find_machine(scenario.machine);
    RunOptions options = options_for(GetParam());
    Comparison once{name, machine.name, "", "", {}}, again = once, other = once;
    once.runs.push_back(simulate(machine, make_program(scenario, 3), options));
    again.runs.push_back(simulate(machine, make_program(scenario, 3), options));
    other.runs.push_back(simulate(machine, make_program(scenario, 4), options));
    EXPECT_EQ(comparison_json(once), comparison_json(again));
    if (name != std::string("first-steps")) {
      EXPECT_NE(comparison_json(once), comparison_json(other));
    }
  }
}

std::vector<std::string> all_schedulers() {
  std::vector<std::string> all = scheduler_names();
  for (const std::string& path : example_plug_ins()) all.push_back(path);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Schedulers, Simulated, testing::ValuesIn(all_schedulers()),
                         [](const auto& info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

// Whatever the compiler, its optimisation and its sanitizers: these figures, to the nanosecond.
// They change with the model; then they are read off anew.
TEST(Determinism, figures_are_the_same_in_every_build) {
  Scenario scenario = find_scenario("configure");
  Machine machine = find_machine(scenario.machine);
  Program program = make_program(scenario, 1);
  EXPECT_EQ(simulate(machine, program, options_for("coop")).time, 415'736'242u);
  EXPECT_EQ(simulate(machine, program, options_for("linux")).time, 711'810'724u);
}

// NEST section 3.2: "The spin continually checks whether there is a thread on the core's
// hyperthread; if one appears the spinning stops immediately". Thread a blocks at 1,021,500 on core
// 0, which spins; b starts on its sibling, core 1, at 2,000,000 and would let it spin under coop.
TEST(NestSpin, ends_when_the_sibling_gets_a_thread) {
  Machine machine = round_machine(1);
  machine.threads_per_core = 2;
  Program program =
      program_of({{"a", {"compute 1M", "wait s"}, 1}, {"b", {"compute 1M", "signal s"}, 0}});
  program.starts.push_back({1, 0, 2'000'000});
  auto polls_at = [&](const char* policy, Nanoseconds at) {
    RoostScheduler scheduler(*find_policy(policy), {{"idle_spin", 5'000'000}});
    World world(machine, program, Governor::schedutil, scheduler);
    world.run(at);
    return world.polls(0) || world.polls(1);
  };
  for (const char* policy : {"coop", "nest"}) {
    EXPECT_FALSE(polls_at(policy, 1'000'000));
    EXPECT_TRUE(polls_at(policy, 1'900'000));
  }
  // b takes the core that spins; a is woken at about 3 ms on the other.
  Program pair =
      program_of({{"a", {"compute 1M", "wait s"}, 1}, {"c", {"compute 9M", "signal s"}, 1}});
  RoostScheduler coop(*find_policy("coop"), {{"idle_spin", 5'000'000}});
  RoostScheduler nest(*find_policy("nest"), {{"idle_spin", 5'000'000}});
  World under_coop(machine, pair, Governor::schedutil, coop);
  World under_nest(machine, pair, Governor::schedutil, nest);
  under_coop.run(2'000'000);
  under_nest.run(2'000'000);
  EXPECT_TRUE(under_coop.polls(0) || under_coop.polls(1));
  EXPECT_FALSE(under_nest.polls(0) || under_nest.polls(1));
}

// A few threads that come and go on a large machine stay on few cores, and warm ones.
TEST(Nest, few_threads_stay_on_few_warm_cores) {
  Scenario scenario = find_scenario("h2-like");
  for (const char* name : {"xeon-6130-2", "xeon-6130-4", "xeon-5218-2"}) {
    Machine machine = find_machine(name);
    Program program = make_program(scenario, 1);
    RunResult linux = simulate(machine, program, options_for("linux"));
    RunResult nest = simulate(machine, program, options_for("nest"));
    EXPECT_LT(nest.cores_for_most, linux.cores_for_most) << name;
    EXPECT_LT(nest.time, linux.time) << name;
  }
}

TEST(Trace, what_perfetto_opens_is_json_with_a_slice_for_each_turn) {
  std::string path = testing::TempDir() + "roost-sim-trace.json";
  {
    TraceFile file(path);
    Tracer tracer(file, "a \"run\"", 1);
    RunOptions options = options_for("coop");
    options.watchers = {&tracer};
    simulate(round_machine(1), program_of({{"main", {"compute 1M"}, 2}}), options);
  }
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  std::remove(path.c_str());
  EXPECT_NE(text.find("{\"ph\":\"X\",\"name\":\"process 0 thread 0\",\"pid\":1,\"tid\":1,"
                      "\"ts\":0.000,\"dur\":1021.500}"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.substr(text.size() - 4), "\n]}\n");
}

}  // namespace
}  // namespace roost::sim
