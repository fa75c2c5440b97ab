// Model of the parking lot: a mutex, a semaphore and a condition variable built on it as preload
// builds them (mutex.cc, semaphore.cc, cond.cc), with timeouts and jumps out of signal handlers
// that race wake-ups.
#include "check.h"
#include "sched/lot_wait.h"
#include "segment/thread_state.h"

namespace roost::model {
namespace {

using TheWaiter = Waiter<World>;

// What a signal handler does that interrupts a wait: it leaves it, or jumps within itself.
enum class Jump { none, out, within };
struct HasJumped {};

// Threads of one process and how they sleep: managed ones park on their record (with a core for
// everybody: whoever unparks grants), others wait on the waiter's own word.
struct Threads {
  Kernel kernel;
  ThreadRecord<World> records[3];
  bool managed = false;

  Threads() {
    for (auto& record : records) record.state.store(running_on(0), std::memory_order_relaxed);
  }

  struct Host {
    Threads& threads;
    bool timed = false;
    Jump jump = Jump::none;
    LotBucket<World>* bucket = nullptr;

    ThreadIndex self() const { return threads.managed ? rl::thread_index() : kNoThread; }
    WaitResult sleep(TheWaiter& waiter) {
      for (;;) {
        if (jump != Jump::none && rl::rand(2) && jumps_out(waiter)) throw HasJumped{};
        if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
        bool ended = waiter.thread == kNoThread ? sleep_unmanaged(waiter) : park(waiter);
        if (waiter.woken.load(std::memory_order_acquire)) return WaitResult::woken;
        if (ended) return WaitResult::timed_out;
      }
    }
    void await_signal(TheWaiter& waiter) {
      timed = false;
      sleep(waiter);
    }
    void joins(LotBucket<World>& its_bucket, TheWaiter&) { bucket = &its_bucket; }
    void leaves() {}
    void wake(ThreadIndex thread, TheWaiter* waiter) {
      if (thread == kNoThread) {
        threads.kernel.wake(&waiter->woken);  // the waiter may be gone
      } else if (unpark(threads.records[thread], 1)) {
        threads.grant_core(thread);
      }
    }

   private:
    bool ends_early() const { return timed || jump != Jump::none; }
    bool jumps_out(TheWaiter& waiter) {
      bool out = jump == Jump::out;
      jump = Jump::none;
      abandon_lot_wait<World>(*bucket, waiter, *this);
      return out;
    }
    bool sleep_unmanaged(TheWaiter& waiter) {
      bool ended = !threads.kernel.wait(waiter.woken, 0u, ends_early());
      if (ended && jump != Jump::none && jumps_out(waiter)) throw HasJumped{};
      return ended;
    }

    // As park(), wait_for_grant() and abandon_wait() of sched; true: timed out.
    bool park(TheWaiter& waiter) {
      auto& record = threads.records[rl::thread_index()];
      if (begin_block(record).block == Block::permit) return false;
      bool timed_out = false, leaves = false;
      for (;;) {
        std::uint32_t word = announce_sleep(record);
        if (state_of(word) == State::running) {
          if (leaves) throw HasJumped{};
          return timed_out;
        }
        if (threads.kernel.wait(record.state, word, ends_early() && !timed_out)) continue;
        if (jump != Jump::none) leaves = jumps_out(waiter);
        if (!cancel_block(record, 1)) continue;
        timed_out = true;
        threads.grant_core(rl::thread_index());
      }
    }
  };

  void grant_core(ThreadIndex thread) {
    if (grant(records[thread], 0, 1, [] {}) == Grant::sleeps) kernel.wake(&records[thread].state);
  }
};

constexpr int kBusy = 16, kTimedOut = 110;

struct Mutex {
  World::atomic<unsigned> word;

  // The weakest trylock there can be: a plain look, then the exchange.
  int try_lock() {
    unsigned expected = 0;
    bool got = word.load(std::memory_order_relaxed) == 0 &&
               word.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                            std::memory_order_relaxed);
    return got ? 0 : kBusy;
  }
};

// An object and its bucket; the bucket is shared by all objects of a model, as any two may be.
struct Lot : Threads {
  LotBucket<World> bucket;
  rl::var<int> inside{0};  // stands for what the bucket's lock protects
  Mutex mutex;

  // `gives_way`: not before a waiter that is on its way to the mutex.
  int lock(bool timed = false, bool gives_way = false) {
    if (!gives_way && mutex.try_lock() == 0) return 0;
    Host host{*this, timed};
    auto attempt = [&] {
      inside($) = 1;
      if (gives_way) {
        gives_way = false;
        TheWaiter* first = bucket.first(&mutex);
        if (first && first->woken.load(std::memory_order_relaxed)) return kBusy;
      }
      return mutex.try_lock();
    };
    return wait_retry<World>(bucket, &mutex, 0, host, kBusy, attempt, [](WaitResult result) {
      return result == WaitResult::timed_out ? kTimedOut : kBusy;
    });
  }
  void unlock() {
    mutex.word.store(0, std::memory_order_release);
    World::fence();  // [lot-1]
    if (!may_have_waiters()) return;
    Host host{*this};
    bool first = true;
    wake_retry<World>(bucket, &mutex, host, [&](TheWaiter& waiter) {
      inside($) = 2;
      if (!first || waiter.woken.load(std::memory_order_relaxed)) return Choice::stop;
      first = false;
      return Choice::wake;
    });
  }
  bool may_have_waiters() { return bucket.count.load(std::memory_order_seq_cst) != 0; }
};

// Three threads and a mutex: nobody is left asleep, and nobody is inside at the same time.
template <bool kTimeouts>
struct MutexModel : rl::test_suite<MutexModel<kTimeouts>, 3> {
  Lot lot;
  rl::var<int> guarded{0};
  unsigned entered = 0, gave_up = 0;

  void before() { lot.managed = rl::rand(2); }
  void thread(unsigned index) {
    for (int round = 0; round < 2; ++round) {
      if (lot.lock(kTimeouts && index == 0, rl::rand(4) == 0)) {
        ++gave_up;
        continue;
      }
      guarded($) += 1;
      ++entered;
      lot.unlock();
    }
  }
  void after() {
    RL_ASSERT(entered + gave_up == 6 && guarded($) == static_cast<int>(entered));
    RL_ASSERT(lot.bucket.count.load() == 0 && !lot.bucket.head && !lot.bucket.tail);
  }
};

// Two takers, one of them with a timeout, and a poster that is one short.
struct SemaphoreModel : rl::test_suite<SemaphoreModel, 3> {
  Lot lot;
  World::atomic<unsigned> value;
  unsigned taken = 0, gave_up = 0;

  void before() { lot.managed = rl::rand(2); }

  int try_wait() {
    unsigned seen = value.load(std::memory_order_relaxed);
    while (seen) {
      if (value.compare_exchange_strong(seen, seen - 1, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return 0;
      }
    }
    return kBusy;
  }
  int wait(bool timed, Jump jump = Jump::none) {
    if (try_wait() == 0) return 0;
    Threads::Host host{lot, timed, jump};
    return wait_retry<World>(
        lot.bucket, &value, 0, host, kBusy, [&] { return try_wait(); },
        [](WaitResult result) { return result == WaitResult::timed_out ? kTimedOut : kBusy; });
  }
  void post() {
    value.fetch_add(1, std::memory_order_release);
    World::fence();  // [lot-1]
    if (!lot.may_have_waiters()) return;
    Threads::Host host{lot};
    unsigned count = 1;
    wake_retry<World>(lot.bucket, &value, host, [&](TheWaiter& waiter) {
      if (count == 0) return Choice::stop;
      if (waiter.woken.load(std::memory_order_relaxed)) return Choice::skip;
      --count;
      return Choice::wake;
    });
  }

  void thread(unsigned index) {
    if (index == 2) {
      for (int i = 0; i < 3; ++i) post();
      return;
    }
    for (int i = 0; i < 2; ++i) {
      bool timed = index == 0;
      int result = wait(timed);
      RL_ASSERT(result == 0 || timed);
      ++(result == 0 ? taken : gave_up);
      if (index == 1 && i == 0) break;  // one untimed wait: three posts are always enough for it
    }
  }
  void after() {
    RL_ASSERT(taken + gave_up == 3 && value.load() == 3 - taken);
    RL_ASSERT(lot.bucket.count.load() == 0 && !lot.bucket.head);
  }
};

// Two takers, one of whom a handler's jump takes out of its wait, and a poster: what was posted to
// the one is the other's.
template <Jump kJump>
struct JumpModel : rl::test_suite<JumpModel<kJump>, 3> {
  SemaphoreModel semaphore;
  unsigned taken = 0;

  void before() { semaphore.before(); }
  void thread(unsigned index) {
    if (index == 2) {
      for (int i = 0; i < (kJump == Jump::out ? 1 : 2); ++i) semaphore.post();
      return;
    }
    try {
      RL_ASSERT(semaphore.wait(false, index == 0 ? kJump : Jump::none) == 0);
      ++taken;
      // The other one waits for it, if there was one post only.
      if (kJump == Jump::out && index == 0) semaphore.post();
    } catch (HasJumped) {
    }
  }
  void after() {
    RL_ASSERT(taken >= 1);
    RL_ASSERT(semaphore.lot.bucket.count.load() == 0 && !semaphore.lot.bucket.head);
  }
};

// Two waiters and a signaller: whoever was taken out of the queue wakes, even at its deadline, and
// a signal given to a waiter is never lost to a timeout.
struct ConditionModel : rl::test_suite<ConditionModel, 3> {
  Lot lot;
  int condition = 0;  // its address is the key
  rl::var<int> guarded{0};
  unsigned signalled = 0, woken = 0, gave_up = 0;
  bool timeouts = false;
  Jump jump = Jump::none;

  void before() {
    lot.managed = rl::rand(2);
    timeouts = rl::rand(2);
    if (!timeouts && rl::rand(2)) jump = rl::rand(2) ? Jump::out : Jump::within;
  }

  bool wait(bool timed, Jump its_jump) {
    Threads::Host host{lot, timed, its_jump};
    TheWaiter waiter;
    waiter.key = &condition;
    begin_signal_wait<World>(lot.bucket, waiter, host, [] { return true; });
    lot.unlock();
    WaitResult result = end_signal_wait<World>(lot.bucket, waiter, host);
    lot.lock();
    return result == WaitResult::woken;
  }

  void thread(unsigned index) {
    if (index < 2) {
      lot.lock();
      while (guarded($) == 0) {
        try {
          if (wait(timeouts && index == 0, index == 0 ? jump : Jump::none)) {
            ++woken;
            continue;
          }
        } catch (HasJumped) {
          lot.lock();  // as after pthread_cond_wait
        }
        ++gave_up;
        if (jump != Jump::within) break;
      }
      lot.unlock();
      return;
    }
    lot.lock();
    guarded($) = 1;
    lot.unlock();
    Threads::Host host{lot};
    std::uint32_t limit = rl::rand(2) ? 2 : 1;
    do {
      signalled += signal_waiters<World>(lot.bucket, &condition, limit, host,
                                         [](TheWaiter&) { return true; });
    } while (limit++ == 1);
  }
  void after() {
    // A signal may have been given to one who then left by a jump.
    RL_ASSERT(woken == signalled || (jump == Jump::out && woken + 1 == signalled && gave_up == 1));
    RL_ASSERT(lot.bucket.count.load() == 0 && !lot.bucket.head);
  }
};

// What the signaller wrote before it took a waiter out is there when that one returns, also when
// its deadline has just passed.
struct SignalModel : rl::test_suite<SignalModel, 2> {
  Lot lot;
  int event = 0;  // its address is the key
  rl::var<int> message{0};
  bool woken = false;
  std::uint32_t signalled = 0;

  void thread(unsigned index) {
    if (index == 0) {
      Threads::Host host{lot, true};
      TheWaiter waiter;
      waiter.key = &event;
      begin_signal_wait<World>(lot.bucket, waiter, host, [] { return true; });
      woken = end_signal_wait<World>(lot.bucket, waiter, host) == WaitResult::woken;
      if (woken) RL_ASSERT(message($) == 1);
    } else {
      message($) = 1;
      Threads::Host host{lot};
      signalled =
          signal_waiters<World>(lot.bucket, &event, 1, host, [](TheWaiter&) { return true; });
    }
  }
  void after() { RL_ASSERT(woken == (signalled == 1)); }
};

}  // namespace
}  // namespace roost::model

int main() {
  using namespace roost::model;
  Check check;
  check.holds<MutexModel<false>>("mutex:", 400000);
  check.holds<MutexModel<true>>("mutex with timeouts:", 400000);
  check.holds<SemaphoreModel>("semaphore with timeouts:", 400000);
  check.holds<JumpModel<Jump::out>>("semaphore with a jump out of a wait:", 400000);
  check.holds<JumpModel<Jump::within>>("semaphore with a jump within a handler:", 400000);
  check.holds<ConditionModel>("condition variable:", 400000);
  check.holds<SignalModel>("a signal and what was written before it:", 400000);
  // [lot-1]: a waiter falls asleep although the object is free.
  const char* lot = "sched/parking_lot.h";
  check.fails_without<MutexModel<false>>({Take::fence, lot, "announce"}, rl::test_result_deadlock,
                                         400000);
  check.fails_without<MutexModel<false>>({Take::fence, "parking_lot.cc", "unlock"},
                                         rl::test_result_deadlock, 400000);
  check.fails_without<SemaphoreModel>({Take::fence, "parking_lot.cc", "post"},
                                      rl::test_result_deadlock, 400000);
  // [signal-1], and the bucket's lock.
  const char* wait = "sched/lot_wait.h";
  for (const char* function : {"signal_waiters", "end_signal_wait"}) {
    check.fails_without<SignalModel>({Take::orderings, wait, function}, rl::test_result_data_race,
                                     400000);
  }
  for (const char* function : {"acquire", "release"}) {
    check.fails_without<MutexModel<false>>({Take::orderings, lot, function},
                                           rl::test_result_data_race, 400000);
  }
  return check.result();
}
