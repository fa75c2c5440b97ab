// Scenes in which one process comes to a stop before any atomic operation of the ledger: it is
// killed there, or stopped, and others of its instance have to go on.
//
// SteppedWorld counts the atomic operations a thread makes, and calls `at_last_step` before the one
// that a test names.
#pragma once

#include "sched/local_instance_test.h"

namespace roost {

inline thread_local int steps_left = -1;  // negative: as many as it likes
inline void (*at_last_step)();

template <class T>
struct SteppedAtomic {
  std::atomic<T> value{};
  static void step() {
    if (steps_left < 0) return;
    if (steps_left-- == 0) at_last_step();
  }
  T load(std::memory_order = std::memory_order_seq_cst) const { return step(), value.load(); }
  void store(T wanted, std::memory_order = std::memory_order_seq_cst) {
    step();
    value.store(wanted);
  }
  T fetch_or(T bits, std::memory_order = std::memory_order_seq_cst) {
    return step(), value.fetch_or(bits);
  }
  T fetch_and(T bits, std::memory_order = std::memory_order_seq_cst) {
    return step(), value.fetch_and(bits);
  }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order, std::memory_order) {
    return step(), value.compare_exchange_strong(expected, wanted);
  }
  T operator=(T wanted) {
    store(wanted);
    return wanted;
  }
};

struct SteppedWorld {
  template <class T>
  using atomic = SteppedAtomic<T>;
  static void fence() {}
  static void relax(unsigned) {}
};

// Who the calling thread of the test acts as.
inline thread_local Party acting_as = kNobody;
struct SteppedOs : FakeOsIn<SteppedWorld> {
  Party self() { return acting_as; }
};

inline constexpr ProcessIndex kInterrupted = 0, kLiving = 1;
inline constexpr unsigned kPlaced = 10;

enum class Load { core_free, cores_busy, threads_wait };
inline constexpr Load kLoads[] = {Load::core_free, Load::cores_busy, Load::threads_wait};

// Threads 0-4 are of the process that is interrupted, 5-9 of the living one. 0, 5 and perhaps 3
// run, on cores 0, 1 and 2; 4 and 9 are blocked; the others perhaps wait.
struct Scene : LocalInstanceOn<SteppedOs, SteppedWorld> {
  explicit Scene(Load load)
      : LocalInstanceOn({1, 3}, kPlaced, *find_policy("coop"), 2), load(load) {
    for (ThreadIndex i = 0; i < kPlaced; ++i) place(i, i < 5 ? kInterrupted : kLiving, i % 2);
    place(3, kInterrupted, 2);
    acting_as = party_of_thread(5);
    wake(0);
    wake(5);
    if (load == Load::core_free) return;
    wake(3);
    if (load == Load::cores_busy) return;
    for (ThreadIndex i : {1, 6, 7, 8}) wake(i);
  }

  static bool is_interrupted(Party party) {
    return party == party_of_process(kInterrupted) || (party >= 1 && party <= 5);
  }

  // Threads run, each until it blocks. Nothing is broken at any time, and every thread of the
  // living that was ready gets its turn.
  std::string all_run() {
    std::vector<bool> ran(kPlaced);
    for (unsigned turn = 0; turn < kPlaced; ++turn) {
      if (std::string problem = broken(); !problem.empty()) return problem;
      for (CoreIndex c = 0; c < machine.n_cores(); ++c) {
        ThreadIndex running = owner(c);
        if (running == kNoThread) continue;
        ran[running] = true;
        runs(c, running);
      }
    }
    for (ThreadIndex i = 5; i < kPlaced; ++i) {
      if (state(i) == State::ready) return "thread " + std::to_string(i) + " still waits";
    }
    for (ThreadIndex i : {6, 7, 8}) {
      if (load == Load::threads_wait && !ran[i])
        return "thread " + std::to_string(i) + " never ran";
    }
    return "";
  }

  // What a thread does that has been granted a core.
  virtual void runs(CoreIndex, ThreadIndex thread) {
    acting_as = party_of_thread(thread);
    block(thread);
  }
  virtual ~Scene() = default;

  Load load;
};

struct Operation {
  const char* name;
  void (*perform)(Scene&);
};
inline constexpr Operation kOperations[] = {
    {"block", [](Scene& scene) { scene.block(0); }},
    {"yield", [](Scene& scene) { scene.yield(0); }},
    {"yield, its seat being elsewhere", [](Scene& scene) { scene.yield(0, 0, 2); }},
    {"enter the kernel", [](Scene& scene) { scene.to_kernel(0); }},
    {"wake a thread of the living", [](Scene& scene) { scene.wake(9); }},
    {"wake one of its own", [](Scene& scene) { scene.wake(4); }},
    {"enter and leave the kernel",
     [](Scene& scene) {
       scene.to_kernel(0);
       scene.from_kernel(0);
     }},
};

// Tries every operation under every load, interrupted before each of its steps in turn, until
// `interrupt(load, operation, steps)` finds that it had come to its end before, or the test fails.
template <class Interrupt>
void at_every_step(Interrupt&& interrupt) {
  for (Load load : kLoads) {
    for (const Operation& tried : kOperations) {
      int steps = 0;
      for (bool ended = false; !ended; ++steps) {
        SCOPED_TRACE(std::string(tried.name) + ", load " + std::to_string(static_cast<int>(load)) +
                     ", interrupted before step " + std::to_string(steps));
        ended = interrupt(load, tried, steps);
        if (testing::Test::HasFailure()) return;
      }
      EXPECT_GT(steps, 3);
    }
  }
}

}  // namespace roost
