// Golden small scenarios, their arithmetic by hand, on a machine of round numbers: 1 GHz, so that a
// cycle takes a nanosecond.
#include "sim/world.h"

#include <gtest/gtest.h>

#include "sim/sim_test.h"

namespace roost::sim {
namespace {

// One thread: it is woken on a halted core (20,000), its affinity is set (1,500 under Roost alone),
// and computes 1,000,000 cycles.
TEST(World, one_thread_computes_after_it_was_woken) {
  EXPECT_EQ(run_script(1, "linux", {{"main", {"compute 1M"}, 1}}).time, 20'000u + 1'000'000);
  EXPECT_EQ(run_script(1, "coop", {{"main", {"compute 1M"}, 1}}).time, 20'000u + 1'500 + 1'000'000);
}

// Two threads of 1,000,000 cycles on one core under coop. The first starts as above and ends at
// 1,021,500; its core is handed to the second in 2,700, whose affinity was set for 1,500 on the
// way.
TEST(World, coop_hands_the_core_over_when_a_thread_ends) {
  RunResult result = run_script(1, "coop", {{"main", {"compute 1M"}, 2}});
  EXPECT_EQ(result.time, 1'021'500u + 2'700 + 1'500 + 1'000'000);
  EXPECT_EQ(result.switches, 2u);
}

// Two threads of 10,000,000 cycles on one core under Linux; slices of 4 ms, ticks at 4, 8, ... ms.
// Both begin with half a slice; the first runs from 20,000. Its virtual time reaches its deadline
// (2,000,000) before the first tick at 4,000,000: the second runs, after a switch of 1,700. It
// passes its deadline at the tick at 8,000,000, and so on, a switch at each tick: those at 4, 8, 12
// and 16 ms take place. The first has run 4,000,000 (20,000 of it waking), 8 to 12 (4,000,000 -
// 1,700) and ends after the switch at 16,000,000: 10,000,000 - 3,980,000 - 3,998,300 = 2,021,700 at
// 16,000,000 + 1,700 + 2,021,700 = 18,023,400. The second has 10,000,000 - 2 * 3,998,300 =
// 2,003,400 left and ends after the switch: 18,023,400 + 1,700 + 2,003,400.
TEST(World, linux_shares_a_core_by_ticks) {
  RunResult result = run_script(1, "linux", {{"main", {"compute 10M"}, 2}});
  EXPECT_EQ(result.time, 18'023'400u + 1'700 + 2'003'400);
  EXPECT_EQ(result.switches, 6u);
}

// A mutex held for 100,000 of 100,000 by two threads on two cores, once each. Both start at 21,500
// (wake-up and affinity) and take the lock at once: thread 0 at 0 in event order. Costs of lock and
// unlock (20) are paid with the next step. Thread 1 finds it taken, watches it for 1,000 (40
// pauses) and blocks; with nobody to run it spins for 50,000 on its core, and sleeps. Thread 0
// holds it from 21,500 for 100,020 (its own lock's 20 first), unlocks at 121,520, pays 20 + 150 for
// making thread 1 ready + 1,500 for the wake-up (pinned there already), and ends. Thread 1 wakes
// from its halt at 121,520 + 20,000, pays 20 for the try before it blocked, 20 for the one now and
// 200 for the line of the mutex, which core 0 had last, and computes 100,000.
TEST(World, a_waiter_gets_the_mutex_when_it_is_free) {
  RunResult result = run_script(2, "coop", {{"main", {"lock m", "compute 100k", "unlock m"}, 2}});
  EXPECT_EQ(result.time, 121'520u + 20'000 + 20 + 20 + 200 + 100'000);
}

// The same with the lock held so briefly (10,000) that thread 1 still spins, and sees that it may
// go on in 200. Thread 0: 21,500 + 20 + 10,000 = 31,520.
TEST(World, a_waiter_that_still_spins_is_woken_faster) {
  RunResult result = run_script(2, "coop", {{"main", {"lock m", "compute 10k", "unlock m"}, 2}});
  EXPECT_EQ(result.time, 31'520u + 200 + 20 + 20 + 200 + 10'000);
}

// Held for 500 only: thread 1 watches it until it is free, at 21,500 + 20 + 500, and takes it after
// 200 and the 20 of the second try.
TEST(World, a_mutex_that_is_free_soon_is_watched) {
  RunResult result = run_script(2, "coop", {{"main", {"lock m", "compute 500", "unlock m"}, 2}});
  EXPECT_EQ(result.time, 22'020u + 200 + 20 + 500);
  EXPECT_EQ(result.switches, 2u);
}

// glibc's mutex. Both threads are awake at 20,000, and thread 0 has the mutex until 20,120. Thread
// 1 pays 20 for its vain try and is in the kernel for 300 until that looks again: it finds the
// mutex free, returns to the program in half as long, and takes it for 20.
TEST(World, linux_looks_again_before_a_thread_sleeps_for_a_mutex) {
  Machine machine = round_machine(2);
  machine.costs.futex_look = 300;
  RunResult result =
      run_script(machine, "linux", {{"main", {"lock m", "compute 100", "unlock m"}, 2}});
  EXPECT_EQ(result.time, 20'000u + 20 + 300 + 150 + 20 + 100);
  EXPECT_EQ(result.switches, 2u);
}

// Held for 10,000 from 20,020 on, so that thread 1 sleeps. Its wake-up costs thread 0 1,500 and
// takes 20,000, in which thread 0 has the mutex again: thread 1 tries in vain at 50,060 (20 for
// each of its tries), and is woken once more. Thread 0 unlocks for the second time at 30,020 + 20 +
// 1,500 + 20 + 100,000 = 131,560. Thread 1 pays for two tries and the line.
TEST(World, linux_lets_the_unlocker_have_the_mutex_again) {
  RunResult result = run_script(
      2, "linux",
      {{"first", {"lock m", "compute 10k", "unlock m", "lock m", "compute 100k", "unlock m"}, 1},
       {"second", {"lock m", "compute 10k", "unlock m"}, 1}});
  EXPECT_EQ(result.time, 131'560u + 20'000 + 20 + 20 + 200 + 10'000);
}

// The first holder is done at 30,020; the spinning thread sees that in 200.
TEST(World, a_spinning_thread_takes_a_lock_without_a_wake_up) {
  for (const char* step : {"spin_lock m", "yield_lock m"}) {
    RunResult result = run_script(2, "linux", {{"main", {step, "compute 10k", "unlock m"}, 2}});
    EXPECT_EQ(result.time, 30'020u + 200 + 10'000) << step;
  }
}

// Linux, all on one core. libc has no stack for the first two threads (500 more each), which end
// before they are joined. The third has one.
TEST(World, stacks_are_kept_when_threads_are_joined) {
  Machine machine = round_machine(1);
  machine.costs.create_stack = 500;
  machine.costs.end = 10'000;
  std::vector<TestScript> scripts = {{"main", {"fork child 2", "join", "fork child 1", "join"}, 1},
                                     {"child", {}, 0}};
  RunResult kept = run_script(machine, "linux", scripts);
  machine.costs.create_stack = 0;
  EXPECT_EQ(kept.time, run_script(machine, "linux", scripts).time + 2 * 500);
}

// Thread 0 is awake at 21,500 and starts another for 20,000, which runs on core 1 after 20,000
// (halted) and 1,500 (affinity), at 63,000, and ends. Thread 0 spins since 41,500, sees that in
// 200, and starts the next for 2,000: the thread that has ended spins on core 1, so it begins after
// 200, at 65,400; it is pinned there already. The third takes as long: 2,400.
TEST(World, a_kept_thread_starts_where_it_spins) {
  RunResult result = run_script(
      2, "coop", {{"main", {"repeat 3", "fork child 1", "join", "again"}, 1}, {"child", {}, 0}});
  EXPECT_EQ(result.threads, 4u);
  EXPECT_EQ(result.time, 65'400u + 200 + 2'200 + 200);
}

// Yields on Linux 6.18, one core. Thread 0 waits at a barrier by yielding, thread 1 gets there
// after 10,000,000. Both begin with half a slice: deadlines 2,000,000. Thread 0 runs from 0, is
// awake at 20,000, and yields: ahead of the average, it gives nothing up, and thread 1 computes
// from 20,000 + 1,700 on. At the tick at 4,000,000 thread 1 has a vruntime of 3,980,000, its slice
// is over (next deadline 7,980,000) and thread 0 runs, after a switch of 1,700 and its 20 at the
// barrier. At 4,001,720, with a vruntime of 21,720, it yields: it is eligible and gives up what is
// left until 2,000,000; thread 1 is not eligible yet (twice 3,980,000 above the sum of 5,980,000).
// So it yields again, 630 later: vruntime 6,000,000, the sum is 9,980,000, and thread 1 goes on at
// 4,001,720 + 630 + 1,700 = 4,004,050, after a pause of 4,050. At the tick at 8,000,000 its
// vruntime is 3,980,000 + 3,998,280, short of its deadline by 1,720, so it keeps the core until it
// is done, at 21,700 + 10,000,000 + 4,050 = 10,025,750. It opens the barrier and ends; thread 0
// runs after a switch of 1,700, sees the line in 200, and ends.
TEST(World, linux_yields_by_giving_up_slices) {
  Machine machine = round_machine(1);
  machine.yield_forfeits = true;
  RunResult result = run_script(
      machine, "linux",
      {{"waits", {"yield_barrier b"}, 1}, {"works", {"compute 10M", "yield_barrier b"}, 1}},
      {{"b", 2}});
  EXPECT_EQ(result.time, 10'025'750u + 1'700 + 200);
}

// The same on older kernels, where a yield moves the deadline alone. At 4,001,720 thread 1 is not
// eligible (twice 3,980,000 above the sum of 4,001,720), so thread 0 goes on yielding until it is,
// 3,958,280 later at 7,960,000; its next yield, 630 later, comes after the pause, and thread 1 goes
// on at 7,960,630 + 1,700. It has computed 4,000,000 - 21,700 until the tick; at the tick at
// 8,000,000 its vruntime is 3,980,000 + 39,370, and at 12,000,000 it is 8,019,370, past its
// deadline of 7,980,000: thread 0 runs for a while again. It was behind by 8,019,370 - 3,980,630 =
// 4,038,740 and runs, from 12,000,000 on, until it has caught up, and 630 to its next yield: thread
// 1 goes on at 12,000,000 + 4,038,740 + 630 + 1,700. It has computed 3,978,300 + (12,000,000 -
// 7,962,330) = 8,015,970 and needs 1,984,030 more.
TEST(World, linux_yields_before_6_18_cost_a_turn) {
  RunResult result = run_script(
      1, "linux",
      {{"waits", {"yield_barrier b"}, 1}, {"works", {"compute 10M", "yield_barrier b"}, 1}},
      {{"b", 2}});
  EXPECT_EQ(result.time, 16'041'070u + 1'984'030 + 1'700 + 200);
}

// A machine that has not got faster than 500 MHz, half of its nominal frequency, when a test ends.
Machine slow_machine(unsigned cores) {
  Machine machine = round_machine(cores);
  machine.control = FrequencyControl::software;
  machine.min_mhz = 500;
  machine.turbo = {{cores, 1000}};
  machine.frequency_update = 1'000'000'000;
  return machine;
}

// S_move. Thread 0 computes for 6,000,000 from 20,000 on and starts another (20,000), for which
// core 1 is chosen: it is idle since 5,020,000, and the tick at 4,000,000 saw it slow. So the child
// stays on core 0, and runs there at 6,040,000 + 1,700 for 200,000, as thread 0 waits for it. Its
// end wakes thread 0 (1,500), for which core 1 is chosen again: it stays, too, and runs after a
// switch of 1,700.
TEST(World, smove_stays_on_the_starters_core_if_the_other_is_slow) {
  std::vector<TestScript> scripts = {{"main", {"compute 3M", "fork child 1", "join"}, 1},
                                     {"other", {"compute 2500k"}, 1},
                                     {"child", {"compute 100k"}, 0}};
  EXPECT_EQ(run_script(slow_machine(2), "smove", scripts).time,
            6'040'000u + 1'700 + 200'000 + 1'500 + 1'700);
  // CFS uses the slow core: 20,000 to wake it, twice, as thread 0 finds its own core idle.
  EXPECT_EQ(run_script(slow_machine(2), "linux", scripts).time,
            6'040'000u + 20'000 + 200'000 + 20'000);
}

// The same, but thread 0 computes on: after 50,000 the child moves to core 1, and is done there
// 20,000 + 400,000 later. It wakes thread 0 (1,500), whose core 0 was slow at its last tick, too,
// so that it runs on core 1 when the child has ended.
TEST(World, smove_moves_on_after_a_brief_delay) {
  RunResult result = run_script(slow_machine(2), "smove",
                                {{"main", {"compute 3M", "fork child 1", "compute 100k"}, 1},
                                 {"other", {"compute 2500k"}, 1},
                                 {"child", {"compute 200k"}, 0}});
  EXPECT_EQ(result.time, 6'040'000u + 50'000 + 20'000 + 400'000 + 1'500 + 1'700);
}

TEST(World, smove_is_linux_where_no_core_is_slow) {
  for (const char* name : {"configure", "convoy"}) {
    Program program = make_program(find_scenario(name), 1);
    Machine machine = round_machine(8);
    EXPECT_EQ(simulate(machine, program, options_for("smove")).time,
              simulate(machine, program, options_for("linux")).time);
  }
}

TEST(World, spinning_threads_meet_at_a_barrier) {
  for (const char* policy : {"linux", "coop"}) {
    for (const char* barrier : {"barrier b", "spin_barrier b", "yield_barrier b"}) {
      RunResult result = run_script(
          2, policy, {{"main", {"repeat 20", "compute 50k", barrier, "again"}, 6}}, {{"b", 6}});
      EXPECT_TRUE(result.finished) << policy << " " << barrier << ": " << result.trouble;
      EXPECT_GE(result.time, 20u * 6 * 50'000 / 2);
    }
  }
}

TEST(World, threads_start_threads_and_wait_for_them) {
  for (const char* policy : {"linux", "coop"}) {
    RunResult result = run_script(
        2, policy,
        {{"main", {"repeat 3", "fork child 4", "join", "fork_process child 2", "join", "again"}, 1},
         {"child", {"compute 100k", "count 1"}, 0}});
    EXPECT_TRUE(result.finished) << result.trouble;
    EXPECT_EQ(result.units, 18u);
    EXPECT_EQ(result.threads, 19u);
  }
}

TEST(World, sleep_and_io_give_the_core_away) {
  for (const char* policy : {"linux", "coop"}) {
    RunResult result = run_script(
        1, policy, {{"sleeper", {"sleep 10ms", "io disk 1ms"}, 2}, {"worker", {"compute 8M"}, 1}});
    EXPECT_TRUE(result.finished) << result.trouble;
    EXPECT_GE(result.time, 12'000'000u);  // the disk serves one at a time
    EXPECT_LT(result.time, 12'500'000u);
  }
}

TEST(World, a_deadlock_is_described) {
  RunResult result = run_script(1, "coop", {{"main", {"wait never"}, 1}});
  EXPECT_FALSE(result.finished);
  EXPECT_NE(result.trouble.find("thread 0 of 'main' at step 1 waits"), std::string::npos)
      << result.trouble;
}

TEST(World, hyperthreads_share_a_core) {
  Machine machine = round_machine(1);
  machine.threads_per_core = 2;
  machine.smt_permille = 500;
  // Both run at half speed from 20,000 (wake-up) on.
  EXPECT_EQ(run_script(machine, "linux", {{"main", {"compute 1M"}, 2}}).time, 20'000u + 2'000'000);
}

TEST(World, saturated_memory_is_shared_evenly) {
  Machine machine = round_machine(4);
  machine.memory_threads = 2;
  // Four threads that do nothing but load, where two saturate the memory: half speed.
  EXPECT_EQ(run_script(machine, "linux", {{"main", {"compute 1M memory 1000"}, 4}}).time,
            20'000u + 2'000'000);
}

// Both threads compute from 20,000 to 30,000 and then ask the controller of their node, which
// serves one after the other: until 35,000 and 40,000. Each computes on as soon as it is served.
TEST(World, a_memory_controller_serves_one_request_at_a_time) {
  std::vector<TestScript> scripts = {{"main", {"compute 10k", "access 5us", "compute 10k"}, 2}};
  RunResult result = run_script(2, "linux", scripts);
  EXPECT_EQ(result.time, 40'000u + 10'000);
  EXPECT_EQ(result.controllers_busy, std::vector<Nanoseconds>{10'000});
  EXPECT_EQ(result.busy, 45'000u + 50'000);  // a core waits for its request
}

// On two nodes, the data on node 0: the request from node 1 passes the link in 2,500, and finds the
// controller busy until 35,000.
TEST(World, a_request_to_another_node_passes_its_link) {
  Machine machine = round_machine(2, 2);
  machine.remote_permille = 1500;
  std::vector<TestScript> scripts = {{"main", {"compute 10k", "access 5us 0", "compute 10k"}, 2}};
  EXPECT_EQ(run_script(machine, "linux", scripts).time, 35'000u + 5'000 + 10'000);
  scripts[0].steps[1] = "access 5us";  // each on its own
  RunResult apart = run_script(machine, "linux", scripts);
  EXPECT_EQ(apart.time, 35'000u + 10'000);
  EXPECT_EQ(apart.controllers_busy, (std::vector<Nanoseconds>{5'000, 5'000}));
}

// NuPoCo's equation (4), an M/M/1/N/N queue: eight cores, each of which asks after 8 us on average
// for 1 us on average. The sum of 8! / (8 - k)! / 8^k for k from 0 to 8 is
// 1 + 1 + 0.875 + 0.65625 + 0.41016 + 0.20508 + 0.07690 + 0.01923 + 0.00240 = 4.24502,
// so that the controller is busy for 1 - 1 / 4.24502 = 0.7644 of the time.
TEST(World, loops_load_the_controller_as_queueing_theory_says) {
  Scenario scenario = parse_scenario(R"(
name = "queue"
summary = "eight cores, one controller"
[[program]]
kind = "loops"
threads = 8
loops = 1
requests = 10000
cycles = 8000
request_ns = 1000
)",
                                     "queue.toml");
  RunResult result = simulate(round_machine(8), make_program(scenario, 1), options_for("linux"));
  double busy = static_cast<double>(result.controllers_busy[0]) / static_cast<double>(result.time);
  EXPECT_NEAR(busy, 0.7644, 0.015);
}

// 2 * (3 * 100 + 2 * (10 + 4 * 5)) cycles.
TEST(World, the_work_of_a_program_is_known_before_it_runs) {
  Program program =
      program_of({{"main", {"repeat 3", "compute 100", "again", "fork child 2", "join"}, 2},
                  {"child", {"compute 10", "repeat 4", "fork leaf 1", "join", "again"}, 0},
                  {"leaf", {"compute 5"}, 0}});
  EXPECT_EQ(total_work(program), 720e6);
  EXPECT_EQ(total_work(program_of({{"main", {"repeat 0", "compute 1", "again"}, 1}})), 0);

  struct : Observer {
    void computed(ThreadIndex, std::uint64_t work) override { sum += static_cast<double>(work); }
    double sum = 0;
  } executed;
  RunOptions options = options_for("linux");
  options.watchers = {&executed};
  for (const char* name : {"cholesky", "configure", "nested-recreate"}) {
    Scenario scenario = find_scenario(name);
    Program shipped = make_program(scenario, 1);
    executed.sum = 0;
    simulate(find_machine(scenario.machine), shipped, options);
    EXPECT_NEAR(executed.sum / total_work(shipped), 1, 1e-9) << name;
  }
}

TEST(World, a_migration_refills_the_working_set) {
  Machine machine = round_machine(2);
  machine.costs.refill_per_kib[static_cast<unsigned>(Distance::llc)] = 10;
  // A thread of another core sleeps while its core is taken for long, and goes on elsewhere.
  Program program = program_of({{"a", {"compute 100k", "sleep 1ms", "compute 100k"}, 1}});
  program.scripts[0].working_set_kib = 100;
  RunResult cold = simulate(machine, program, options_for("linux"));
  EXPECT_EQ(cold.migrations, 0u);
  EXPECT_EQ(cold.time, 20'000u + 100'000 + 1'000'000 + 20'000 + 100'000);
}

}  // namespace
}  // namespace roost::sim
