// NEST in the real runtime: what the ledger alone cannot show (EuroSys '22, section 3).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "os/child_test.h"
#include "os/sys.h"
#include "policy/nest.h"
#include "sched/joined_test.h"
#include "sched/runtime.h"
#include "segment/instance_test.h"

namespace roost {
namespace {

constexpr Nanoseconds kVeryLong = 60'000'000'000;  // to spin

// Two cores, which are hardware threads of one physical core; spinning ends by itself only after a
// minute.
struct NestRuntime : testing::Test {
  TestInstance instance{2};
  void choose(const Policy& policy) {
    SegmentConfig& config = instance.config();
    config.policy = policy.name;
    config.policy_layout = policy.layout;
    config.pin_mode = PinMode::none;
    config.cores[0].to_sibling = 1;
    config.cores[1].to_sibling = -1;
    for (unsigned i = 0; i < policy.n_parameters; ++i)
      config.parameters[i] = policy.parameters[i].standard;
    config.parameters[nest::idle_spin] = kVeryLong;
  }
  // What `body` complains of, in a process whose first thread is its caller.
  template <class Body>
  std::string in_member(Body&& body) {
    return in_child([&]() -> std::string {
      if (runtime_start(instance.config(), kLibc) != 0) return "cannot join";
      std::string complaint = body();
      runtime_stop();
      return complaint;
    });
  }
};

std::uint32_t word_of_thread(ThreadIndex thread) { return segment().threads[thread].state.load(); }

// A thread that waits, and spins on the core it had. Gone with the object.
class Spinner {
 public:
  Spinner() {
    thread_ = std::thread([this] {
      if (!thread_attach()) _exit(1);
      index_ = self.index;
      core = core_of(self.record->state.load());
      while (!over_) park(nullptr, false);
      thread_detach();
    });
    while (index_ == kNoThread || state_of(word_of_thread(index_)) != State::blocked)
      std::this_thread::yield();
  }
  ~Spinner() {
    over_ = true;
    unpark(index_);
    thread_.join();
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  // Whether it has gone to sleep within ten seconds.
  bool sleeps_soon() const {
    return sleeps_while([] {});
  }
  // While the caller has the core as well: over and over, as the keeper takes back what no thread
  // of the ledger runs on.
  bool sleeps_while_owned(CoreIndex owned) const {
    auto& owner = segment().cores[owned].owner;
    bool slept = sleeps_while([&] { owner.store(self.index + 1); });
    owner.store(0);
    return slept;
  }
  bool sleeps() const { return word_of_thread(index_) & kSleeping; }
  CoreIndex core = kNoCore;

 private:
  template <class Meanwhile>
  bool sleeps_while(Meanwhile&& meanwhile) const {
    for (Nanoseconds end = os::now() + 10'000'000'000; os::now() < end; std::this_thread::yield()) {
      meanwhile();
      if (sleeps()) return true;
    }
    return false;
  }

  std::atomic<ThreadIndex> index_{kNoThread};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// "The spin continually checks whether there is a thread on the core's hyperthread; if one appears
// the spinning stops immediately" (3.2).
TEST_F(NestRuntime, a_thread_stops_spinning_when_its_sibling_gets_a_thread) {
  choose(kNest);
  EXPECT_EQ(in_member([&]() -> std::string {
              enter_external();
              Spinner spinner;
              if (spinner.sleeps()) return "it does not spin";
              // Somebody has the sibling; the ledger is not asked, which might choose the other
              // core.
              bool slept = spinner.sleeps_while_owned(1 - spinner.core);
              std::string complaint = slept ? "" : "it goes on spinning";
              leave_external();
              return complaint;
            }),
            "");
}

TEST_F(NestRuntime, a_thread_whose_sibling_has_a_thread_does_not_begin_to_spin) {
  choose(kNest);
  EXPECT_EQ(in_member([&]() -> std::string {
              Spinner spinner;  // the caller has the other core
              return spinner.sleeps_soon() ? "" : "it spins";
            }),
            "");
}

// Who claims the core is about to grant it to the spinner, or only looks at it.
TEST_F(NestRuntime, a_thread_spins_on_while_its_core_is_claimed) {
  choose(kCoop);
  EXPECT_EQ(in_member([&]() -> std::string {
              Spinner spinner;
              auto& owner = segment().cores[spinner.core].owner;
              // From nobody: the spinner itself may have it for a moment, to look at its queue.
              auto claim = kClaimedCore | party_of_thread(self.index);
              for (std::uint32_t nobody = 0; !owner.compare_exchange_weak(nobody, claim);
                   nobody = 0)
                std::this_thread::yield();
              for (int i = 0; i < 1000; ++i) std::this_thread::yield();
              std::string complaint = spinner.sleeps() ? "it stopped" : "";
              if (!spinner.sleeps_while_owned(spinner.core)) complaint += "it goes on spinning";
              return complaint;
            }),
            "");
}

// coop spins for what a wake-up costs, whatever the sibling does.
TEST_F(NestRuntime, another_policy_does_not_look_at_the_sibling) {
  choose(kCoop);
  EXPECT_EQ(in_member([&]() -> std::string {
              Spinner spinner;
              for (int i = 0; i < 1000; ++i) std::this_thread::yield();
              return spinner.sleeps() ? "it stopped" : "";
            }),
            "");
}

// "if a thread terminates on a core and the core becomes idle, then the core is [...] immediately
// demoted from the primary nest to the reserve nest" (3.1): also if its kernel thread waits for the
// next start, whose thread is then a new one.
TEST_F(NestRuntime, a_thread_that_ends_into_the_cache_demotes_its_core) {
  choose(kNest);
  instance.config().parameters[nest::idle_spin] = 0;
  EXPECT_EQ(
      in_member([&]() -> std::string {
        std::atomic<ThreadIndex> index{kNoThread};
        std::atomic<CoreIndex> core{kNoCore};
        std::atomic<bool> assigned{false};
        auto nest_of_core = [&] {
          return nest::nest_of(segment().cores[core].policy_shared.load());
        };
        std::string complaint;
        enter_external();
        std::thread thread([&] {
          if (!thread_attach()) _exit(1);
          core = core_of(self.record->state.load());
          segment().cores[core].policy_shared.store(nest::word_of(nest::Nest::primary, os::now()));
          self.record->policy_words[nest::core_before] = core + 1u;
          index = self.index;
          while (!assigned) park_ended();
          if (self.record->policy_words[nest::failures] > 1) complaint = "words are left";
          thread_detach();
        });
        auto idle = [&] { return segment().cores[core].owner.load() == 0; };
        while (index == kNoThread || state_of(word_of_thread(index)) != State::blocked || !idle())
          std::this_thread::yield();
        if (nest_of_core() != nest::Nest::reserve) complaint = "the core was not demoted";
        for (std::uint64_t word : segment().threads[index].policy_words)
          if (word) complaint = "the next thread has the last one's history";
        assigned = true;
        unpark(index);
        thread.join();
        leave_external();
        return complaint;
      }),
      "");
}

TEST_F(NestRuntime, a_thread_that_waits_leaves_its_core_in_the_nest) {
  choose(kNest);
  instance.config().parameters[nest::idle_spin] = 0;
  EXPECT_EQ(in_member([&]() -> std::string {
              enter_external();
              Spinner waits;
              CoreSlot<RealWorld>& slot = segment().cores[waits.core];
              while (slot.owner.load() != 0) std::this_thread::yield();
              std::string complaint =
                  nest::nest_of(slot.policy_shared.load()) == nest::Nest::none ? "it left it" : "";
              leave_external();
              return complaint;
            }),
            "");
}

}  // namespace
}  // namespace roost
