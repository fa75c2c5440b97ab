// The core ledger: who owns which core, how that changes (sched/core_grants.h), and what is done
// where somebody does not go on: the leader takes what he has (sched/PROTOCOL.md, "Overtaking").
//
// Ledger<W, Os> works on the tables of a segment (or of a test) and acts through an Os:
//   Nanoseconds now()
//   Party self()                                 who the calling thread is
//   ProcessIndex process()                       the caller's, whose memory can be looked at
//   bool waits_in_vain(const ThreadRecord<W>&, Nanoseconds waited)  one of that process
//   void wake(ThreadRecord<W>&)                  futex wake of a granted sleeper
//   void pin(ThreadRecord<W>&, CoreIndex)        kernel affinity of a sleeping thread
//   void relax(unsigned spins)                   inside a lock's spin
// and may have
//   unsigned lock_tries                          for a lock, between two looks at its holder
//   void note(trace::Kind, const ThreadRecord<W>*, CoreIndex)  what happens, for a trace
//   CoreIndex core_about_to_leave()             that the caller, a thread, has, if it is likely to
//                                               leave it in a moment; else kNoCore
//
// Whoever has something (a lock, a core, a READY thread) gives it up by an exchange from the very
// word by which he has it. If that fails, somebody has overtaken him, since he was stopped or
// starved, and it is no concern of his any more (sched/PROTOCOL.md, "Overtaking").
#pragma once

#include "sched/core_grants.h"

namespace roost {

template <class W, class Os>
class Ledger : public CoreGrants<W, Os> {
  using Grants = CoreGrants<W, Os>;

 public:
  using Record = ThreadRecord<W>;

  using Grants::Grants;
  using Grants::make_ready;
  using Grants::release;
  using Grants::serve_free;

  // By the watchdog: takes the core from a thread that sleeps unseen, or (`sleeps` false) that has
  // run for too long and goes on running beside the next. False if it has moved on.
  bool rescue(CoreIndex core, ThreadIndex thread, bool sleeps = true) {
    Record& record = t_.threads[thread];
    std::uint32_t word = record.state.load(std::memory_order_relaxed);
    if ((word & ~kPermit) != running_on(core)) return false;
    std::uint32_t at_large = with_state(word, State::external) | kAtLarge;
    if (!record.state.compare_exchange_strong(word, at_large, std::memory_order_acq_rel,
                                              std::memory_order_relaxed)) {
      return false;
    }
    note(sleeps ? trace::Kind::rescued : trace::Kind::shared, &record, core);
    ++(sleeps ? record.counters.rescues : record.counters.shares);
    Held held{core, t_.cores[core].owner.load(std::memory_order_relaxed)};
    if (thread_of_owner(held.word) == thread && pass(held, claim_word()))
      release_after(&record, claim_on(core), false, 0);
    return true;
  }

  // By the keeper after a process died: frees the cores that its threads had or were serving;
  // `is_dead(Party)` tells who they are. Whether there were any.
  template <class IsDead>
  bool take_back_cores(IsDead&& is_dead) {
    bool found = false;
    for (CoreIndex core = 0; core < t_.n_cores; ++core) {
      std::uint32_t word = t_.cores[core].owner.load(std::memory_order_acquire);
      if (word == 0 || !is_dead(party_of_owner(word))) continue;
      found = true;
      take({core, word});
    }
    return found;
  }

  // By the keeper after that: what they had begun for others is finished.
  template <class IsDead>
  void finish_for(IsDead&& is_dead) {
    for (ThreadIndex i = 0; i < t_.n_threads; ++i) {
      std::uint32_t word = t_.threads[i].state.load(std::memory_order_acquire);
      if (is_in_hands(word) && is_dead(holder_of(word))) overtake_thread(i, holder_of(word));
    }
    for (CoreIndex core = 0; core < t_.n_cores; ++core) {
      wake_owner({core, t_.cores[core].owner.load(std::memory_order_acquire)});
      mend_hints(core);
    }
  }

  // By the leader: whether somebody is just passing the core on, and no thread runs there.
  bool is_in_transit(Held held) const {
    if (held.word == 0) return false;
    ThreadIndex thread = thread_of_owner(held.word);
    return thread >= t_.n_threads ||
           !runs_on(held.core, t_.threads[thread].state.load(std::memory_order_acquire));
  }

  // By the leader, of a core that has been in transit by this very word for long: it is taken from
  // whoever passes it on.
  void overtake_core(Held held) {
    ThreadIndex thread = thread_of_owner(held.word);
    if (thread >= t_.n_threads) return take(held);
    Record& record = t_.threads[thread];
    std::uint32_t word = record.state.load(std::memory_order_acquire);
    if (runs_on(held.core, word)) return;
    // It is being granted the core perhaps: that must not come to an end once we have it.
    if (is_in_hands(word) && !pass_on(record, holder_of(word), os_.self())) return;
    take(held);
    if (is_in_hands(word)) make_ready(thread);
  }

  // By the leader, of a thread that is dead's, or has been in the same hands for long.
  void overtake_thread(ThreadIndex thread, Party holder) {
    if (!pass_on(t_.threads[thread], holder, os_.self())) return;
    for (CoreIndex core = 0; core < t_.n_cores; ++core) {
      std::uint32_t word = t_.cores[core].owner.load(std::memory_order_acquire);
      if (thread_of_owner(word) == thread) take({core, word});
    }
    make_ready(thread);
  }

  // By the leader: its granter may not have come so far.
  void wake_owner(Held held) {
    ThreadIndex owner = thread_of_owner(held.word);
    if (owner < t_.n_threads) os_.wake(t_.threads[owner]);
  }

  // The leader has nothing in its hands but what it keeps there for good, threads of the dead.
  bool is_in_others_hands(std::uint32_t word) {
    return is_in_hands(word) && holder_of(word) != os_.self();
  }
  static bool is_in_hands(std::uint32_t word) {
    return state_of(word) == State::ready && !is_queue(holder_of(word));
  }

  // By the leader, since who was overtaken, or killed, may have left wrong hints: a free core can
  // be seen to be idle, and if threads are queued on `core`, that they are; a free core serves
  // them.
  void mend_hints(CoreIndex core) {
    bool is_free = t_.cores[core].owner.load(std::memory_order_acquire) == 0;
    if (is_free && !is_contended(core) && !has_bit(t_.idle, core)) serve_free(core);
    if (length(core) == 0) return;
    announce_queued(core);
    serve_idle(core);
  }

 private:
  using Grants::announce_queued;
  using Grants::claim_on;
  using Grants::claim_word;
  using Grants::is_contended;
  using Grants::length;
  using Grants::note;
  using Grants::os_;
  using Grants::pass;
  using Grants::release_after;
  using Grants::serve_idle;
  using Grants::t_;

  // Takes a core from whoever has it, killed or stopped perhaps between its owner word and its bit.
  void take(Held held) {
    if (!pass(held, claim_word())) return;
    clear_bit(t_.idle, held.core);
    release(claim_on(held.core));
  }

  static bool runs_on(CoreIndex core, std::uint32_t word) {
    return state_of(word) == State::running && roost::core_of(word) == core;
  }
};

}  // namespace roost
