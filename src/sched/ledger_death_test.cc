// A process is killed at every step of every operation of the ledger; the others lose nothing.
//
// MortalWorld counts the atomic operations a thread makes and kills it (an exception) before the
// one that the test names. A survivor then does what the keeper does.
#include "sched/local_instance_test.h"

namespace roost {
namespace {

struct Killed {};
int steps_to_live = -1;  // negative: immortal

template <class T>
struct MortalAtomic {
  std::atomic<T> value{};
  static void step() {
    if (steps_to_live == 0) throw Killed{};
    if (steps_to_live > 0) --steps_to_live;
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

struct MortalWorld {
  template <class T>
  using atomic = MortalAtomic<T>;
  static void fence() {}
  static void relax(unsigned) {}
};

constexpr ProcessIndex kDying = 0, kLiving = 1;
constexpr unsigned kPlaced = 10;

enum class Load { core_free, cores_busy, threads_wait };

// Threads 0-4 are of the dying process, 5-9 of the living one. 0, 5 and perhaps 3 run, on cores 0,
// 1 and 2; 4 and 9 are blocked; the others perhaps wait.
struct Scene : LocalInstanceOn<FakeOsIn<MortalWorld>, MortalWorld> {
  explicit Scene(Load load)
      : LocalInstanceOn({1, 3}, kPlaced, *find_policy("coop"), 2), load(load) {
    for (ThreadIndex i = 0; i < kPlaced; ++i) place(i, i < 5 ? kDying : kLiving, i % 2);
    place(3, kDying, 2);
    os.me = party_of_thread(5);
    wake(0);
    wake(5);
    if (load == Load::core_free) return;
    wake(3);
    if (load == Load::cores_busy) return;
    for (ThreadIndex i : {1, 6, 7, 8}) wake(i);
  }

  static bool is_of_dying(Party party) {
    return party == party_of_process(kDying) || (party >= 1 && party <= 5);
  }

  void recover() {
    os.me = party_of_process(kLiving);
    for (ThreadIndex i = 0; i < 5; ++i) os.dead.push_back(party_of_thread(i));
    os.dead.push_back(party_of_process(kDying));
    for (int look = 0; look < 2; ++look) {
      ledger.purge(kDying, [](ThreadIndex) {});
      ledger.take_back_cores(is_of_dying);
      ledger.finish_for(is_of_dying);
    }
    for (ThreadIndex i = 0; i < 5; ++i) change_state(threads[i], State::free);
  }

  // Every thread that was ready or running gets its turn, and nothing is broken at any time.
  std::string all_run() {
    std::vector<bool> ran(kPlaced);
    for (unsigned turn = 0; turn < kPlaced; ++turn) {
      if (std::string problem = broken(); !problem.empty()) return problem;
      for (CoreIndex c = 0; c < machine.n_cores(); ++c) {
        ThreadIndex running = owner(c);
        if (running == kNoThread) continue;
        os.me = party_of_thread(running);
        ran[running] = true;
        block(running);
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

  Load load;
};

using Operation = void (*)(Scene&);
struct Named {
  const char* name;
  Operation operation;
};
constexpr Named kOperations[] = {
    {"block", [](Scene& scene) { scene.block(0); }},
    {"yield", [](Scene& scene) { scene.yield(0); }},
    {"enter the kernel", [](Scene& scene) { scene.to_kernel(0); }},
    {"wake a thread of the living", [](Scene& scene) { scene.wake(9); }},
    {"wake one of its own", [](Scene& scene) { scene.wake(4); }},
    {"enter and leave the kernel",
     [](Scene& scene) {
       scene.to_kernel(0);
       scene.from_kernel(0);
     }},
};

TEST(LedgerDeath, at_any_step_the_others_lose_nothing) {
  for (Load load : {Load::core_free, Load::cores_busy, Load::threads_wait}) {
    for (const Named& tried : kOperations) {
      int steps = 0;
      for (bool died = true; died; ++steps) {
        SCOPED_TRACE(std::string(tried.name) + ", load " + std::to_string(static_cast<int>(load)) +
                     ", killed before step " + std::to_string(steps));
        Scene scene(load);
        scene.os.me = party_of_thread(0);
        steps_to_live = steps;
        try {
          tried.operation(scene);
          died = false;
        } catch (Killed) {
        }
        steps_to_live = -1;
        scene.recover();
        ASSERT_EQ(scene.all_run(), "");
      }
      EXPECT_GT(steps, 3);
    }
  }
}

TEST(LedgerDeath, who_wakes_after_the_grant_is_replaced) {
  // The last step of a grant is the word; the wake-up after it is the kernel's.
  Scene scene(Load::core_free);
  scene.os.woken.clear();
  scene.os.me = party_of_thread(0);
  scene.wake(9);
  ASSERT_EQ(scene.state(9), State::running);
  scene.os.woken.clear();
  scene.recover();
  EXPECT_TRUE(std::count(scene.os.woken.begin(), scene.os.woken.end(), &scene.threads[9]));
}

TEST(LedgerDeath, a_lock_is_taken_from_the_dead_only) {
  Scene scene(Load::threads_wait);
  scene.cores[0].lock.holder.store(party_of_thread(0));
  scene.os.dead.push_back(party_of_thread(0));
  EXPECT_EQ(scene.queue(0).size(), scene.cores[0].ready.load());
  EXPECT_EQ(scene.cores[0].lock.holder.load(), kNobody);
}

}  // namespace
}  // namespace roost
