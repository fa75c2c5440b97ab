// The leader's look at what somebody has begun with the ledger and does not go on with, since he
// was stopped or starved: it is taken from him (sched/PROTOCOL.md, "Overtaking").
//
// What is seen in the same hands at two looks is overtaken. He may be just about to go on: that
// costs him some work, and nobody else anything.
#pragma once

#include "sched/ledger_tables.h"

namespace roost {

// All zero at first. 1024 cores.
class Overtaking {
 public:
  // At a tick of the leader's. `used(word)`: of the records 64 * word and so on, which are in use.
  template <class Ledger, class Used>
  void look(Ledger& ledger, Nanoseconds now, Used&& used) {
    for (CoreIndex core = 0; core < ledger.tables().n_cores; ++core) look_at(ledger, core);
    if (now - looked_at_threads_ < kThreadsTick) return;
    looked_at_threads_ = now;
    look_at_threads(ledger, now, used);
  }

 private:
  static constexpr Nanoseconds kThreadsTick = 60'000'000;

  // What was seen of a core at the last look.
  struct Core {
    std::uint32_t owner;
    Party lock;
    std::uint32_t woken;  // the owner that was woken for the case that its granter did not
  };
  // A READY thread in somebody's hands.
  struct Suspect {
    ThreadIndex thread;
    std::uint32_t word;
  };
  static constexpr unsigned kSuspects = 256;  // more come into view when these have gone

  template <class Ledger>
  void look_at(Ledger& ledger, CoreIndex core) {
    auto& slot = ledger.tables().cores[core];
    Core& seen = cores_[core];
    Party lock = slot.lock.holder.load(std::memory_order_relaxed);
    if (lock != kNobody && lock == seen.lock) ledger.rebuild(core);
    seen.lock = lock;
    Held held{core, slot.owner.load(std::memory_order_acquire)};
    bool stays = held.word != 0 && held.word == seen.owner;
    seen.owner = held.word;
    if (stays && ledger.is_in_transit(held)) {
      ledger.overtake_core(held);
    } else if (stays && seen.woken != held.word) {
      ledger.wake_owner(held);
      seen.woken = held.word;
    }
    ledger.mend_hints(core);
  }

  template <class Ledger, class Used>
  void look_at_threads(Ledger& ledger, Nanoseconds now, Used&& used) {
    const auto& t = ledger.tables();
    for (CoreIndex core = 0; core < t.n_cores; ++core) oldest_[core] = kNoThread;
    unsigned before = n_suspects_;
    next_ = n_suspects_ = 0;
    for_each_used(t.n_threads, used, [&](ThreadIndex thread) {
      std::uint32_t word = t.threads[thread].state.load(std::memory_order_relaxed);
      note_queued(t, thread, queue_of(word));
      if (ledger.is_in_others_hands(word) && was_so(thread, word, before))
        ledger.overtake_thread(thread, holder_of(word));
    });
    for (unsigned i = 0; i < n_suspects_; ++i) suspects_[i] = found_[i];
    for (CoreIndex core = 0; core < t.n_cores; ++core) {
      ThreadIndex oldest = oldest_[core];
      bool waits = oldest != kNoThread && now - t.threads[oldest].ready_ns > kThreadsTick;
      bool empty = oldest == kNoThread && t.cores[core].ready.load(std::memory_order_relaxed) != 0;
      if (waits || empty) ledger.check_queues(core, oldest);
    }
  }

  template <class Used, class Visit>
  static void for_each_used(ThreadIndex n_threads, Used&& used, Visit&& visit) {
    for (ThreadIndex first = 0; first < n_threads; first += 64) {
      for (std::uint64_t left = used(first / 64); left; left &= left - 1) {
        ThreadIndex thread = first + static_cast<unsigned>(__builtin_ctzll(left));
        if (thread < n_threads) visit(thread);
      }
    }
  }

  template <class Tables>
  void note_queued(const Tables& t, ThreadIndex thread, CoreIndex queue) {
    if (queue >= t.n_cores) return;
    ThreadIndex& oldest = oldest_[queue];
    if (oldest == kNoThread || t.threads[thread].ready_ns < t.threads[oldest].ready_ns)
      oldest = thread;
  }

  // Whether the last look, which found `before` suspects, saw the same; else this one has seen it.
  // Threads come in the order of their records.
  bool was_so(ThreadIndex thread, std::uint32_t word, unsigned before) {
    while (next_ < before && suspects_[next_].thread < thread) ++next_;
    if (next_ < before && suspects_[next_].thread == thread && suspects_[next_].word == word)
      return true;
    if (n_suspects_ < kSuspects) found_[n_suspects_++] = {thread, word};
    return false;
  }

  Core cores_[1024];
  ThreadIndex oldest_[1024];
  Suspect suspects_[kSuspects], found_[kSuspects];
  unsigned n_suspects_;  // at the last look, and so far at this one
  unsigned next_;        // of those of the last look
  Nanoseconds looked_at_threads_;
};

}  // namespace roost
