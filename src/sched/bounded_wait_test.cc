// The bound on the wait of a READY thread (PROTOCOL.md, "How long a READY thread can wait"), in
// virtual time: the ledger, the policy and the watchdog of the runtime, on random machines, with
// threads that do what they can to keep a core.
#include <gtest/gtest.h>

#include "policy/coop.h"
#include "sched/local_instance_test.h"
#include "sched/planted_policies_test.h"
#include "sched/watchdog.h"

namespace roost {
namespace {

constexpr Nanoseconds kMicrosecond = 1000;
constexpr Nanoseconds kNever = ~0ull;
constexpr Nanoseconds kKeeperLate = 500 * kMicrosecond;  // the kernel's delay, at most
constexpr Nanoseconds kSignalLate = 300 * kMicrosecond;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t below(std::uint64_t n) {  // xorshift64*
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545f4914f6cdd1d >> 11) % n;
  }
  std::uint64_t between(std::uint64_t first, std::uint64_t last) {
    return first + below(last - first + 1);
  }

 private:
  std::uint64_t state_;
};

enum class Kind { lawful, computes, spins, spins_unasked, sleeps_unseen };
constexpr std::uint64_t kKinds = 5;

struct Actor {
  Kind kind = Kind::lawful;
  Nanoseconds next = kNever;  // when it does its next step
  bool asleep = false;        // in the kernel, for all that the watchdog can see
  bool asked = false;
  bool ready = false;  // as seen last
  Nanoseconds since = 0, longest = 0;
};

enum class Bug { none, never_shares };

class Trial {
 public:
  Trial(std::uint64_t seed, Bug bug, const Policy& policy = kCoop)
      : bug_(bug),
        dice_(seed),
        n_processes_(static_cast<unsigned>(dice_.between(1, 3))),
        instance_({static_cast<CoreIndex>(dice_.between(1, 2)),
                   static_cast<CoreIndex>(dice_.between(1, 3))},
                  static_cast<unsigned>(dice_.between(2, 24)), policy, 8),
        actors_(instance_.threads.size()),
        stopped_until_(n_processes_) {
    patience_ = dice_.between(1, 20) * kMillisecond;
    quantum_ = dice_.between(1, 40) * kMillisecond;
    instance_.set("quantum", quantum_);
    brief_ = dice_.below(3) ? dice_.between(100 * kMicrosecond, 4 * kMillisecond) : 0;
    instance_.set("brief", brief_);
    for (ThreadIndex t = 0; t < actors_.size(); ++t) {
      actors_[t].kind = static_cast<Kind>(dice_.below(kKinds));
      instance_.place(t, static_cast<ProcessIndex>(dice_.below(n_processes_)),
                      static_cast<CoreIndex>(dice_.below(instance_.machine.n_cores())));
      actors_[t].next = now() + dice_.below(3 * kMillisecond);
    }
  }

  // What was broken first; empty if nothing was.
  std::string run(Nanoseconds how_long) {
    Nanoseconds end = now() + how_long, tick = now();
    while (now() < end && broken_.empty()) {
      ThreadIndex next = 0;
      for (ThreadIndex t = 0; t < actors_.size(); ++t)
        if (when(t) < when(next)) next = t;
      if (when(next) < tick) {
        instance_.os.clock = std::max(now(), when(next));
        actors_[next].next = kNever;
        step(next);
      } else {
        instance_.os.clock = tick;
        bool busy = instance_.ledger.find_queued();
        watchdog_.look(*this, instance_.machine.n_cores(), busy, false, patience_, now());
        tick += watchdog_.next_tick(busy) + dice_.below(kKeeperLate);
        if (dice_.below(100) == 0)
          stopped_until_[dice_.below(n_processes_)] = now() + dice_.below(300 * kMillisecond);
      }
      observe();
    }
    return broken_;
  }
  // The longest wait, in thousandths of its bound.
  std::uint64_t nearest() const { return nearest_; }

  // For the watchdog.
  std::uint32_t passes(CoreIndex core) { return instance_.cores[core].passes.load(); }
  bool find_owner(CoreIndex core) {
    owner_ = instance_.owner(core);
    return owner_ != kNoThread && instance_.core(owner_) == core;
  }
  bool sleeps(CoreIndex) { return actors_[owner_].asleep || stopped(owner_); }
  bool ask(CoreIndex) {
    if (actors_[owner_].kind == Kind::spins_unasked) return false;
    if (actors_[owner_].kind == Kind::spins) {
      actors_[owner_].asked = true;
      actors_[owner_].next = now() + dice_.below(kSignalLate);
    }
    return true;
  }
  bool refuses(CoreIndex) { return dice_.below(4) == 0; }
  std::uint32_t waits_found() const { return waits_found_; }
  bool answered(CoreIndex) { return !actors_[owner_].asked; }
  bool wake(CoreIndex) { return false; }
  void take(CoreIndex core, bool sleeps) {
    if (bug_ == Bug::never_shares && !sleeps) return;
    instance_.ledger.rescue(core, owner_, sleeps);
  }

 private:
  Nanoseconds now() const { return instance_.os.clock; }
  bool stopped(ThreadIndex t) const { return now() < stopped_until_[instance_.threads[t].process]; }
  // Threads of stopped processes do nothing, whatever they had in mind.
  Nanoseconds when(ThreadIndex t) const {
    if (actors_[t].next == kNever) return kNever;
    return std::max(actors_[t].next, stopped_until_[instance_.threads[t].process]);
  }

  // The thread got a core, or goes on: when does it do something?
  void plan(ThreadIndex t) {
    Actor& actor = actors_[t];
    actor.asked = actor.asleep = false;
    switch (actor.kind) {
      case Kind::lawful:
      case Kind::sleeps_unseen:
        actor.next = now() + dice_.below(kMillisecond);
        break;
      case Kind::computes:
        actor.next = now() + dice_.below(200 * kMillisecond);
        break;
      case Kind::spins:
      case Kind::spins_unasked:  // what it waits for comes after a long time
        actor.next = now() + dice_.between(100, 400) * kMillisecond;
    }
  }

  void step(ThreadIndex t) {
    Actor& actor = actors_[t];
    State state = instance_.state(t);
    waits_found_ += actor.asked;
    actor.asked = false;
    if (state == State::blocked) return instance_.wake(t);
    if (state == State::external) {  // back from the kernel, or made to share its core
      actor.asleep = false;
      return instance_.from_kernel(t);
    }
    if (state != State::running) return;
    if (actor.kind == Kind::sleeps_unseen && !actor.asleep && dice_.below(2)) {
      actor.asleep = true;
      actor.next = now() + dice_.below(50 * kMillisecond);
      return;
    }
    std::uint64_t what = actor.kind == Kind::spins ? 0 : dice_.below(4);
    if (what < 2) {
      CoreIndex core = instance_.core(t);
      auto& passed = instance_.cores[core].passes;  // as yield_core()
      passed.store(passed.load() + 1);
      if (!instance_.yield(t, 200 * kMicrosecond)) plan(t);
      return;
    }
    actor.next = now() + dice_.below(3 * kMillisecond);
    what == 2 ? instance_.block(t) : instance_.to_kernel(t);
  }

  // n READY threads of its process before it, p processes, each turn at most a `turn`.
  Nanoseconds bound(ThreadIndex t) {
    Nanoseconds tick = kBusyTick + kKeeperLate;
    Nanoseconds turn = 2 * tick + std::max(patience_, tick);
    Nanoseconds n = 0;
    for (ThreadIndex other : instance_.queue(queue_of(instance_.threads[t].state.load()))) {
      if (other == t) break;
      n += instance_.threads[other].process == instance_.threads[t].process;
    }
    Nanoseconds own = 2 * (n + 1) * turn;
    Nanoseconds rounds = 1 + (own + quantum_ - 1) / quantum_;
    Nanoseconds others = 2 * rounds * (n_processes_ - 1) * (2 * quantum_ + 2 * turn + brief_);
    return kQuietTick + kKeeperLate + 2 * own + rounds * (brief_ + turn) + others;
  }

  void observe() {
    for (ThreadIndex t = 0; t < actors_.size(); ++t) {
      Actor& actor = actors_[t];
      bool ready = instance_.state(t) == State::ready;
      if (ready && !actor.ready) {
        actor.since = now();
        actor.longest = bound(t);
        actor.next = kNever;
      }
      if (actor.ready) {
        Nanoseconds waited = now() - actor.since;
        nearest_ = std::max(nearest_, waited * 1000 / actor.longest);
        if (waited > actor.longest)
          say("thread " + std::to_string(t) + " has waited for " + std::to_string(waited) +
              " ns, and the bound is " + std::to_string(actor.longest));
      }
      bool runs = instance_.state(t) == State::running;
      if (runs && actor.next == kNever) plan(t);
      actor.ready = ready;
    }
    if (std::string wrong = instance_.broken(); !wrong.empty()) say(wrong);
  }
  void say(const std::string& what) {
    if (broken_.empty()) broken_ = what;
  }

  Bug bug_;
  Dice dice_;
  unsigned n_processes_;
  LocalInstance instance_;
  std::vector<Actor> actors_;
  std::vector<Nanoseconds> stopped_until_;
  Watchdog watchdog_{};
  std::uint32_t waits_found_ = 0;
  Nanoseconds patience_ = 0, quantum_ = 0, brief_ = 0;
  ThreadIndex owner_ = kNoThread;
  std::uint64_t nearest_ = 0;
  std::string broken_;
};

constexpr std::uint64_t kTrials = 300;
constexpr Nanoseconds kHowLong = 2000 * kMillisecond;

TEST(BoundedWait, no_ready_thread_waits_for_longer_than_the_formula_says) {
  std::uint64_t nearest = 0;
  for (std::uint64_t seed = 1; seed <= kTrials; ++seed) {
    Trial trial(seed, Bug::none);
    ASSERT_EQ(trial.run(kHowLong), "") << "seed " << seed;
    nearest = std::max(nearest, trial.nearest());
  }
  // The bound says something: some thread waited for a good part of it.
  EXPECT_GT(nearest, 200u);
}

unsigned trials_that_find(Bug bug, const Policy& policy = kCoop, Nanoseconds how_long = kHowLong) {
  unsigned found = 0;
  for (std::uint64_t seed = 1; seed <= kTrials / 4; ++seed)
    found += !Trial(seed, bug, policy).run(how_long).empty();
  return found;
}

TEST(BoundedWait, a_watchdog_that_never_makes_threads_share_is_found) {
  EXPECT_GT(trials_that_find(Bug::never_shares), 0u);
}

TEST(BoundedWait, a_policy_that_serves_one_process_first_is_found) {
  // Where there is one core: a second one sees to it that its queue moves.
  EXPECT_GT(trials_that_find(Bug::none, planted::kStarves, 5 * kHowLong), 0u);
}

}  // namespace
}  // namespace roost
