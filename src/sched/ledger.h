// The core ledger: who owns which core, and every way a core changes hands (sched/PROTOCOL.md).
//
// Ledger<W, Os> works on the tables of a segment (or of a test) and acts through an Os:
//   Nanoseconds now()
//   Party self()                                 who the calling thread is
//   bool gone(Party)                             killed: it will never finish what it has begun
//   ProcessIndex process()                       the caller's, whose memory can be looked at
//   bool waits_in_vain(const ThreadRecord<W>&, Nanoseconds waited)  one of that process
//   void wake(ThreadRecord<W>&)                  futex wake of a granted sleeper
//   void pin(ThreadRecord<W>&, CoreIndex)        kernel affinity of a sleeping thread
//   void relax(unsigned spins)                   inside a lock's spin
// and may have
//   void note(trace::Kind, const ThreadRecord<W>*, CoreIndex)  what happens, for a trace
// Costs: a hand-off to a thread of the own queue takes one lock that is normally uncontended, and
// touches lines of this core, the two threads and a read-mostly mask word.
#pragma once

#include <algorithm>

#include "sched/thread_search.h"
#include "trace/event.h"

namespace roost {

template <class W, class Os>
class Ledger : public ThreadSearch<W, Os> {
  using Searches = ThreadSearch<W, Os>;

 public:
  using Record = ThreadRecord<W>;

  using Searches::any_queued;
  using Searches::find_queued;
  using Searches::has_queued;
  using Searches::Searches;

  // A READY thread in the caller's hands gets a core if one is free, else a place in a queue.
  void make_ready(ThreadIndex thread) {
    Record& record = t_.threads[thread];
    note(trace::Kind::ready, &record, record.last_core);
    PolicyContext context = context_now();
    record.ready_ns = context.now;
    CoreView cores = view();
    if (t_.policy->place) {
      CoreIndex core = t_.policy->place(context, record.last_core, record.policy_words, cores);
      if (core < t_.n_cores) return give(context, core, thread);
    }
    CoreIndex home = t_.policy->thread_ready(context, record.last_core, record.policy_words, cores);
    if (home >= t_.n_cores) home = 0;
    home = beside_contended(home);
    if (grant_if_free(context, home, thread)) return;
    if (grant_idle(context, home, thread)) return;
    enqueue(home, thread);
    serve_idle(home);
  }

  // By whoever owns `core`: grants it to the next READY thread, or leaves it free. `ended`: the
  // thread that had it is no more.
  void release(CoreIndex core, bool ended = false) {
    ThreadIndex owner = thread_of_owner(t_.cores[core].owner.load(std::memory_order_relaxed));
    release_after(owner != kNoThread ? &t_.threads[owner] : nullptr, core, ended);
  }

  // By the thread that owns `core`: if another thread is READY, queues the caller behind it and
  // hands over; the caller must then wait for its own grant. Threads of other cores are taken only
  // after they have waited `steal_age` ns, so that yielding spinners do not tug at each other.
  // `lost` is set when the watchdog took the core meanwhile: the caller holds a READY self.
  //
  // One yield in kYieldsAtHome looks at the other cores, too: the queue of this one may hold
  // nothing but threads that yield to each other, while those of another core wait with work to do.
  static constexpr std::uint64_t kYieldsAtHome = 16;
  enum class YieldResult { alone, handed_over, lost_core };
  YieldResult yield(ThreadIndex self, CoreIndex core, Nanoseconds steal_age) {
    CoreSlot<W>& slot = t_.cores[core];
    Record& record = t_.threads[self];
    if (is_contended(core) && any_queued()) return leave_contended(self, core);
    ThreadIndex next = kNoThread;
    CoreIndex home = core;
    PolicyContext context{};
    if (slot.ready.load(std::memory_order_relaxed)) {
      context = context_now();
      Search search{core, 0, true};
      lock(core);
      next = pop_for(context, search, core);
      unlock(core);
    }
    if (next != kNoThread) {
      bool looks_round = record.counters.yields % kYieldsAtHome == kYieldsAtHome - 1;
      next = looks_round ? look_round(context, core, record, next, steal_age)
                         : follower(context, core, record, next, &home);
    }
    if (next == kNoThread) {
      if (!any_queued()) return YieldResult::alone;
      context = context_now();
      Search search{core, steal_age, true};
      next = steal(context, search);
      if (next == kNoThread) return YieldResult::alone;
    }
    if (leave_core(record, ready_in_hands_of(party_of_thread(self))) == kNoCore) {
      requeue_front(core, next);
      return YieldResult::lost_core;
    }
    note(trace::Kind::yielded, &record, core);
    ++record.counters.yields;
    record.ready_ns = context.now;
    enqueue(home, self);
    ++t_.threads[next].counters.switches;
    give(context, core, next);
    serve_idle(home);
    return YieldResult::handed_over;
  }

  // By the keeper: a core that is or was set aside, if it is free, serves those who may run there.
  // After its bit is cleared, too: whoever left it before did not call it idle [contended-1].
  void serve_contended(CoreIndex core) {
    W::fence();
    if (take_free(core)) release(core);
  }

  // RUNNING -> `next`; returns the core that the caller must now release, or kNoCore if the thread
  // had none (the watchdog took it).
  static CoreIndex leave_core(Record& record, State next) {
    return leave_core(record, static_cast<std::uint32_t>(next));
  }

  // By the watchdog: takes the core from a thread that sleeps unseen, or (`sleeps` false) that has
  // run for too long and goes on running beside the next. False if it has moved on.
  bool rescue(CoreIndex core, ThreadIndex thread, bool sleeps = true) {
    Record& record = t_.threads[thread];
    std::uint32_t word = record.state.load(std::memory_order_relaxed);
    if ((word & ~kPermit) != running_on(core)) return false;
    if (!record.state.compare_exchange_strong(word, with_state(word, State::external),
                                              std::memory_order_acq_rel,
                                              std::memory_order_relaxed)) {
      return false;
    }
    note(sleeps ? trace::Kind::rescued : trace::Kind::shared, &record, core);
    t_.cores[core].owner.store(kClaimedCore | os_.self(), std::memory_order_release);
    ++(sleeps ? record.counters.rescues : record.counters.shares);
    release_after(&record, core, false);
    return true;
  }

  // By the keeper after a process died: frees the cores that its threads had or were serving;
  // `is_dead(Party)` tells who they are. Whether there were any.
  template <class IsDead>
  bool take_back_cores(IsDead&& is_dead) {
    bool found = false;
    for (CoreIndex core = 0; core < t_.n_cores; ++core) {
      auto& owner = t_.cores[core].owner;
      std::uint32_t word = owner.load(std::memory_order_acquire);
      if (word == 0 || !is_dead(party_of_owner(word))) continue;
      found = true;
      if (!owner.compare_exchange_strong(word, kClaimedCore | os_.self(), std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
        continue;
      }
      clear_bit(t_.idle, core);  // killed between its owner word and its bit
      release(core);
    }
    return found;
  }

  // By the keeper after that: what they had begun for others is finished.
  template <class IsDead>
  void finish_for(IsDead&& is_dead) {
    for (ThreadIndex i = 0; i < t_.n_threads; ++i) {
      Record& record = t_.threads[i];
      std::uint32_t word = record.state.load(std::memory_order_acquire);
      if (state_of(word) != State::ready || !is_dead(holder_of(word))) continue;
      // In a queue it is in nobody's hands; who takes it out changes the word first.
      if (record.queued_on != kNoCore) continue;
      if (!record.state.compare_exchange_strong(
              word, (word & (kPermit | kWaitMask)) | ready_in_hands_of(os_.self()),
              std::memory_order_acq_rel, std::memory_order_relaxed)) {
        continue;
      }
      CoreIndex named = core_named_for(i);
      if (named == kNoCore) {
        make_ready(i);
      } else {
        give(context_now(), named, i);
      }
    }
    for (CoreIndex core = 0; core < t_.n_cores; ++core) {
      // A grant whose wake-up is missing.
      ThreadIndex owner = thread_of_owner(t_.cores[core].owner.load(std::memory_order_acquire));
      if (owner != kNoThread) os_.wake(t_.threads[owner]);
      // A queue that nobody was told of.
      if (length(core) == 0) continue;
      announce_queued(core);
      serve_idle(core);
    }
  }

 private:
  using Searches::announce_queued;
  using Searches::enqueue;
  using Searches::from_neighbours;
  using Searches::is_contended;
  using Searches::kContendedAge;
  using Searches::keeps_turn;
  using Searches::length;
  using Searches::lock;
  using Searches::os_;
  using Searches::pop_for;
  using Searches::push_front;
  using Searches::queue_beside;
  using Searches::steal;
  using Searches::t_;
  using Searches::take_from;
  using Searches::take_oldest;
  using Searches::turn_goes_on;
  using Searches::unlock;
  using typename Searches::Search;

  static CoreIndex leave_core(Record& record, std::uint32_t next) {
    std::uint32_t word = record.state.load(std::memory_order_relaxed);
    for (;;) {
      CoreIndex core = state_of(word) == State::running ? core_of(word) : kNoCore;
      if (record.state.compare_exchange_strong(word, (word & kPermit) | next,
                                               std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
        return core;
      }
    }
  }

  void note(trace::Kind kind, const Record* thread, CoreIndex core) {
    if constexpr (requires { os_.note(kind, thread, core); }) os_.note(kind, thread, core);
  }

  // The core whose owner word a granter had set to `thread` when it died.
  CoreIndex core_named_for(ThreadIndex thread) const {
    for (CoreIndex core = 0; core < t_.n_cores; ++core) {
      if (t_.cores[core].owner.load(std::memory_order_acquire) == thread + 1) return core;
    }
    return kNoCore;
  }

  // `home`, or a core of its node, else any, that is not set aside. There always is one.
  CoreIndex beside_contended(CoreIndex home) const {
    if (!is_contended(home)) return home;
    const CoreInfo& info = t_.info[home];
    for (CoreIndex core = info.node_first; core < info.node_end; ++core)
      if (!is_contended(core)) return core;
    for (CoreIndex core = 0; core < t_.n_cores; ++core)
      if (!is_contended(core)) return core;
    return home;
  }

  // Who yields there goes on elsewhere: what it waits for may be quick, and the next slice is not.
  YieldResult leave_contended(ThreadIndex self, CoreIndex core) {
    Record& record = t_.threads[self];
    if (leave_core(record, ready_in_hands_of(party_of_thread(self))) == kNoCore)
      return YieldResult::lost_core;
    note(trace::Kind::yielded, &record, core);
    ++record.counters.yields;
    record.ready_ns = os_.now();
    CoreIndex home = beside_contended(core);
    enqueue(home, self);
    serve_idle(home);
    release(core);
    return YieldResult::handed_over;
  }

  // `left`: the thread that leaves `core`; null if there was none.
  void release_after(Record* left, CoreIndex core, bool ended) {
    for (;;) {
      PolicyContext context = context_now();
      ThreadIndex next = find_work(context, core, left);
      if (next != kNoThread) {
        ++t_.threads[next].counters.switches;
        give(context, core, next);
        return;
      }
      if (t_.policy->core_idle) {
        CoreView cores = view();
        t_.policy->core_idle(context, core, ended, cores);
      }
      bool aside = is_contended(core);
      note(trace::Kind::idle, nullptr, core);
      if (!aside) set_bit(t_.idle, core);
      t_.cores[core].owner.store(0, std::memory_order_release);
      // [idle-1] the free core before the look at queues; [contended-1] and at whether it is still
      // set aside.
      W::fence();
      if (aside ? is_contended(core) : !any_queued()) return;
      // Somebody queued while we went idle. Whoever wins the core serves the queue.
      if (!take_free(core)) return;
    }
  }

  PolicyContext context_now() {
    return {os_.now(), t_.parameters, t_.info, t_.n_cores, t_.policy->data};
  }

  // By whoever has queued a thread, after announce_queued: a core may have gone idle without having
  // seen the entry. Then it is ours to serve.
  void serve_idle(CoreIndex home) {
    W::fence();  // [idle-1] the queue entry before the look at owners
    CoreIndex idle = claim_idle(home);
    if (idle != kNoCore) release(idle);
  }

  // Back to where it was taken from, when the taker cannot use it after all.
  void requeue_front(CoreIndex core, ThreadIndex thread) {
    lock(core);
    push_front(core, thread);
    unlock(core);
    announce_queued(core);
    serve_idle(core);
  }

  // Own queue, then the NUMA node, then anywhere (USF section 4.1); first threads with work, then
  // those that wait in vain: they may know more than we do.
  ThreadIndex find_work(const PolicyContext& context, CoreIndex core, Record* left) {
    bool aside = is_contended(core);
    if (aside && has_bit(t_.on_trial, core)) return kNoThread;
    for (bool pass_over : {true, false}) {
      Search search{core, aside ? kContendedAge : 0, pass_over};
      ThreadIndex thread = take_from(context, search, core);
      if (thread == kNoThread) {
        thread = steal(context, search);
      } else if (left && !aside) {
        thread = follower(context, core, *left, thread);
      }
      if (thread != kNoThread || !search.passed_over) return thread;
    }
    return kNoThread;
  }

  // Who follows `left` on `core`, where `next` is the first of its queue: that one, unless it has
  // waited for long. Then the turn of `left`'s process goes on if threads of it wait elsewhere, or
  // `left`, which is to be queued at `home` if that is not null, joins them; else a guest may come
  // first. It costs nothing where threads follow each other fast.
  static constexpr Nanoseconds kLongWait = 4'000'000;

  ThreadIndex follower(const PolicyContext& context, CoreIndex core, Record& left, ThreadIndex next,
                       CoreIndex* home = nullptr) {
    Nanoseconds waited = context.now - t_.threads[next].ready_ns;
    if (end_visit(left) || waited < kLongWait) return next;
    CoreIndex apart = core_of_siblings(context, core, left.process, t_.threads[next].process);
    if (apart == kNoCore) return prefer_guest(context, core, left, next);
    if (home && length(apart) < length(core) && !is_contended(apart)) {
      *home = apart;
      return next;
    }
    Search search{core, 0, true, false, left.process};
    ThreadIndex sibling = take_from(context, search, apart);
    if (sibling == kNoThread) return next;
    requeue_front(core, next);
    return sibling;
  }

  // A core serves its own queue while that lasts, so one may have many threads to serve and the
  // next one few. Its turn goes to a guest therefore, a thread of another queue, if that has waited
  // for longer than `next` of the own queue by half: not two turns in a row, and none that the
  // process in whose turn `left` leaves can take itself.
  //
  // At the end of a turn only if both have waited for long, and if the other queue is longer; cores
  // far away are reached by way of those between.
  ThreadIndex prefer_guest(const PolicyContext& context, CoreIndex core, const Record& left,
                           ThreadIndex next) {
    Nanoseconds waited = context.now - t_.threads[next].ready_ns;
    Search search{core, waited + std::max(waited / 2, kLongWait), false, false,
                  only_of(left, next)};
    return seat(core, next, from_neighbours(core, [&](CoreIndex from, std::uint32_t more) {
                  return more < 2 ? kNoThread : take_oldest(context, search, from);
                }));
  }

  // A core in whose queue threads of `process` wait while it serves others, if the policy would not
  // turn from that process to `other` yet on `core`. Its turn goes on with them, or who yields
  // joins them where the queue is shorter: threads that wait for each other would else come further
  // once a round of all processes.
  CoreIndex core_of_siblings(const PolicyContext& context, CoreIndex core, ProcessIndex process,
                             ProcessIndex other) {
    if (process == other || !turn_goes_on(context, core, process, other)) return kNoCore;
    return queue_beside(
        core, [&](CoreIndex from) { return !serves(from, process) && has_queued(from, process); });
  }

  // Whether `core` serves the process.
  bool serves(CoreIndex core, ProcessIndex process) const {
    ThreadIndex owner = thread_of_owner(t_.cores[core].owner.load(std::memory_order_relaxed));
    return owner < t_.n_threads && t_.threads[owner].process == process;
  }

  // At times when `left` yields: a guest that has waited for `age` where two threads more share a
  // core than here, `left` and `next` included, or for much longer elsewhere. Threads that poll in
  // turn would else be drawn from core to core, and a move costs more than some turns.
  // A process that has this core for itself keeps it for its quantum, and may then be followed by
  // one of those that share another.
  ThreadIndex look_round(const PolicyContext& context, CoreIndex core, Record& left,
                         ThreadIndex next, Nanoseconds age) {
    constexpr Nanoseconds kMuchLonger = 5;
    Nanoseconds waited = context.now - t_.threads[next].ready_ns;
    if (end_visit(left)) return next;
    ProcessIndex own = only_of(left, next);
    return seat(core, next, from_neighbours(core, [&](CoreIndex from, std::uint32_t more) {
                  Nanoseconds least = more < 3 ? kMuchLonger * age : age;
                  bool any = more >= 3 && !keeps_turn(context, core, own);
                  ProcessIndex only = any ? kNoProcess : own;
                  Search search{core, std::max(least, waited + waited / 2), true, false, only};
                  return take_from(context, search, from);
                }));
  }

  ProcessIndex only_of(const Record& left, ThreadIndex next) const {
    ProcessIndex process = t_.threads[next].process;
    return process == left.process ? process : kNoProcess;
  }

  // `guest`, if there is one, has the turn of `next`, which was taken from the queue of `core`.
  ThreadIndex seat(CoreIndex core, ThreadIndex next, ThreadIndex guest) {
    if (guest == kNoThread) return next;
    t_.threads[guest].guest.store(1, std::memory_order_relaxed);
    requeue_front(core, next);
    return guest;
  }

  // By whoever takes `record` off its core. Whether it was a guest.
  static bool end_visit(Record& record) {
    if (!record.guest.load(std::memory_order_relaxed)) return false;
    record.guest.store(0, std::memory_order_relaxed);
    return true;
  }

  // Makes a free core the caller's; false if it has an owner. The caller's death frees it again.
  bool take_free(CoreIndex core) {
    std::uint32_t expected = 0;
    if (!t_.cores[core].owner.compare_exchange_strong(expected, kClaimedCore | os_.self(),
                                                      std::memory_order_acq_rel,
                                                      std::memory_order_relaxed)) {
      return false;
    }
    // Before the grant: only the next owner may set the bit again.
    clear_bit(t_.idle, core);
    return true;
  }

  bool claim(CoreIndex core) {
    bool owned = t_.cores[core].owner.load(std::memory_order_seq_cst) != 0;
    return !owned && !is_contended(core) && take_free(core);
  }

  // What a policy may see and do (policy/policy.h).
  static Ledger& of(void* ledger) { return *static_cast<Ledger*>(ledger); }
  CoreView view() {
    static constexpr CoreView::Answers kAnswers{
        [](void* ledger, CoreIndex core) { return of(ledger).claim(core); },
        [](void* ledger, CoreIndex first, CoreIndex end) {
          return next_bit(of(ledger).t_.idle, first, end);
        },
        [](void* ledger, CoreIndex core) { return of(ledger).length(core); },
        [](void* ledger, CoreIndex core) -> std::uint64_t {
          return of(ledger).t_.cores[core].policy_shared.load(std::memory_order_relaxed);
        },
        [](void* ledger, CoreIndex core, std::uint64_t from, std::uint64_t to) {
          return of(ledger).t_.cores[core].policy_shared.compare_exchange_strong(
              from, to, std::memory_order_acq_rel, std::memory_order_relaxed);
        }};
    return {this, kAnswers};
  }

  CoreIndex claim_idle_range(CoreIndex first, CoreIndex end) {
    for (CoreIndex core = next_bit(t_.idle, first, end); core != kNoCore;
         core = next_bit(t_.idle, static_cast<CoreIndex>(core + 1), end)) {
      if (claim(core)) return core;
    }
    return kNoCore;
  }

  // An idle core, of home's NUMA node first, claimed; kNoCore if there is none.
  CoreIndex claim_idle(CoreIndex home) {
    const CoreInfo& info = t_.info[home];
    if (claim(home)) return home;
    CoreIndex core = claim_idle_range(info.node_first, info.node_end);
    if (core == kNoCore) core = claim_idle_range(info.node_end, t_.n_cores);
    if (core == kNoCore) core = claim_idle_range(0, info.node_first);
    return core;
  }

  bool grant_if_free(const PolicyContext& context, CoreIndex core, ThreadIndex thread) {
    if (!claim(core)) return false;
    give(context, core, thread);
    return true;
  }

  bool grant_idle(const PolicyContext& context, CoreIndex home, ThreadIndex thread) {
    CoreIndex core = claim_idle(home);
    if (core == kNoCore) return false;
    give(context, core, thread);
    return true;
  }

  // By the owner of `core`: `thread`, READY in our hands, gets it and is woken.
  void give(const PolicyContext& context, CoreIndex core, ThreadIndex thread) {
    CoreSlot<W>& slot = t_.cores[core];
    Record& record = t_.threads[thread];
    note(trace::Kind::granted, &record, core);
    slot.count_pass();
    slot.owner.store(thread + 1, std::memory_order_release);
    record.granted_ns = context.now;
    ++record.counters.grants;
    if (t_.policy->thread_moves)
      t_.policy->thread_moves(context, core, record.last_core, record.policy_words);
    if (record.last_core != core) {
      ++record.counters.migrations;
      record.last_core = core;
    }
    t_.policy->thread_granted(context, core, record.process, slot.policy_words);
    bool sleeps = grant(record, core, [&] {
      if (record.pinned_to != core) os_.pin(record, core);
    });
    if (sleeps) os_.wake(record);
  }
};

}  // namespace roost
