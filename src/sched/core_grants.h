// How cores pass from thread to thread: every grant, release and yield (sched/PROTOCOL.md).
//
// Costs: a hand-off to a thread of the own queue takes one lock that is normally uncontended, and
// touches lines of this core, the two threads and a read-mostly mask word.
#pragma once

#include <algorithm>

#include "sched/core_claims.h"
#include "sched/leaves_soon.h"
#include "trace/event.h"

namespace roost {

template <class W, class Os>
class CoreGrants : public CoreClaims<W, Os> {
  using Claims = CoreClaims<W, Os>;

 public:
  using Record = ThreadRecord<W>;

  using Claims::any_queued;
  using Claims::Claims;
  using Claims::find_queued;
  using Claims::first_queue;
  using Claims::has_queued;
  using Claims::turn_is_over;

  // A READY thread in the caller's hands gets a core if one is free, else a place in a queue.
  void make_ready(ThreadIndex thread) {
    Record& record = t_.threads[thread];
    note(trace::Kind::ready, &record, record.last_core);
    PolicyContext context = context_now();
    record.ready_ns = context.now;
    if (leave_out(record, os_.self()) || waits_behind_waker(context, thread)) return;
    CoreView cores = view();
    if (t_.policy->place) {
      if (waits_for_attendant(context, record.last_core, thread)) return;
      CoreIndex core = t_.policy->place(context, record.last_core, record.policy_words, cores);
      if (core < t_.n_cores && give_claimed(context, core, thread)) return;
    }
    CoreIndex home = t_.policy->thread_ready(context, record.last_core, record.policy_words, cores);
    if (home >= t_.n_cores) home = 0;
    home = beside_contended(home);
    if (waits_for_attendant(context, home, thread)) return;
    if (grant_if_free(context, home, thread)) return;
    if (grant_idle(context, home, thread)) return;
    enqueue(home, thread);
    serve_idle(home);
  }

  // By a RUNNING thread: the core it has. To be asked before it leaves that state: after that
  // somebody may have overtaken it, and granted it the core once more.
  Held core_of(ThreadIndex thread) const {
    std::uint32_t word = t_.threads[thread].state.load(std::memory_order_relaxed);
    if (state_of(word) != State::running) return {};
    CoreIndex core = roost::core_of(word);
    return {core, t_.cores[core].owner.load(std::memory_order_relaxed)};
  }

  // By whoever has a core: grants it to the next READY thread, or leaves it free. `ended`: the
  // thread that had it is no more.
  void release(Held held, bool ended = false) { release_from(held, ended, 0); }

  // By its thread, who will attend the core if it is free then, which is returned: a thread that
  // has become READY at another core a moment ago, alone there, is left to that meanwhile. To come
  // here costs it more than such a moment.
  bool release_to_attend(Held held, bool ended) {
    constexpr Nanoseconds kMoment = 4'000;
    return release_from(held, ended, kMoment);
  }

  // By the thread that owns `core`: if another thread is READY, queues the caller behind it and
  // hands over; the caller must then wait for its own grant. Threads of other cores are taken only
  // after they have waited `steal_age` ns, so that yielding spinners do not tug at each other.
  // `lost` is set when the watchdog took the core meanwhile: the caller holds a READY self.
  // `seat`, if there is one, is the core that should have it (sched/seats.h): it waits there next,
  // if as many wait there at most as here. `in_vain`: how many yields of its process have come to
  // nothing there (sched/vain_yields.h); then to how many others the turn was left for it.
  //
  // One yield in kYieldsAtHome looks at the other cores, too: the queue of this one may hold
  // nothing but threads that yield to each other, while those of another core wait with work to do.
  static constexpr std::uint64_t kYieldsAtHome = 16;
  static constexpr Nanoseconds kMuchLonger = 5, kLongerAtSeat = 50;  // times `steal_age`
  enum class YieldResult { alone, handed_over, lost_core };
  YieldResult yield(ThreadIndex self, Held held, Nanoseconds steal_age, CoreIndex seat,
                    std::uint32_t& in_vain) {
    CoreIndex core = held.core;
    CoreSlot<W>& slot = t_.cores[core];
    Record& record = t_.threads[self];
    if (is_contended(core) && any_queued()) return leave_contended(self, held);
    ThreadIndex next = kNoThread;
    CoreIndex home = core;
    PolicyContext context{};
    if (slot.ready.load(std::memory_order_relaxed)) {
      context = context_now();
      Search search{core, 0, true};
      search.in_vain = in_vain;
      lock(core);
      next = pop_for(context, search, core);
      unlock(core);
      in_vain = search.gives_to;
    } else {
      in_vain = 0;
    }
    if (next != kNoThread) {
      bool looks_round = record.counters.yields % kYieldsAtHome == kYieldsAtHome - 1;
      Nanoseconds much_longer = (core == seat ? kLongerAtSeat : kMuchLonger) * steal_age;
      next = looks_round ? look_round(context, core, record, next, steal_age, much_longer)
                         : follower(context, core, record, next, &home);
      if (seat != kNoCore && is_free_seat(seat, core)) home = seat;
    }
    if (next == kNoThread) {
      if (!any_queued()) return YieldResult::alone;
      context = context_now();
      Search search{core, steal_age, true};
      next = steal(context, search);
      if (next == kNoThread) return YieldResult::alone;
    }
    if (!leave_core(record, ready_in_hands_of(os_.self()))) {
      requeue_front(core, next);
      return YieldResult::lost_core;
    }
    note(trace::Kind::yielded, &record, core);
    ++record.counters.yields;
    record.ready_ns = context.now;
    enqueue(home, self);
    hand_over(context, held, next);
    serve_idle(home);
    return YieldResult::handed_over;
  }

  YieldResult yield(ThreadIndex self, Held held, Nanoseconds steal_age, CoreIndex seat = kNoCore) {
    std::uint32_t in_vain = 0;
    return yield(self, held, steal_age, seat, in_vain);
  }

  // By the keeper: a core, if it is free, serves those who may run there. One that was set aside,
  // too, after its bit is cleared: whoever left it before did not call it idle [contended-1].
  void serve_free(CoreIndex core) {
    W::fence();
    if (take_free(core)) release(claim_on(core));
  }

  // By an attendant of `core` (CoreClaims::attend): whether somebody is to have that from it.
  bool is_called(CoreIndex core) const { return length(core) != 0 && is_free(core); }

  // By an attendant of `core`, who may have been granted some core meanwhile: threads that were
  // queued in reliance on it are served, unless another one can. (Another one of the same core says
  // again at its next look that it is there.)
  void end_attendance(CoreIndex core) {
    t_.cores[core].attended_ns.store(0, std::memory_order_relaxed);
    W::fence();  // [attend-1] nobody attends before the look at queues
    if (first_queue().core == kNoCore) return;
    if (length(core) != 0 || attended_beside(core, os_.now()) == kNoCore) serve_idle(core);
  }

  // By a thread: RUNNING -> `next`; returns the core that it must now release, none if it had none
  // (the watchdog took it).
  Held leave_core(ThreadIndex thread, State next) {
    Held held = core_of(thread);
    return leave_core(t_.threads[thread], static_cast<std::uint32_t>(next)) ? held : Held{};
  }

 protected:
  using Claims::announce_queued;
  using Claims::attended_beside;
  using Claims::claim;
  using Claims::claim_idle;
  using Claims::claim_on;
  using Claims::claim_word;
  using Claims::context_now;
  using Claims::enqueue;
  using Claims::from_neighbours;
  using Claims::is_attended;
  using Claims::is_contended;
  using Claims::is_free;
  using Claims::is_late;
  using Claims::kContendedAge;
  using Claims::length;
  using Claims::lock;
  using Claims::os_;
  using Claims::pass;
  using Claims::pop_for;
  using Claims::push_front;
  using Claims::queue_beside;
  using Claims::steal;
  using Claims::t_;
  using Claims::take_free;
  using Claims::take_from;
  using Claims::take_oldest;
  using Claims::turn_goes_on;
  using Claims::unlock;
  using Claims::view;
  using typename Claims::Search;

  // Whether it had a core.
  static bool leave_core(Record& record, std::uint32_t next) {
    std::uint32_t word = record.state.load(std::memory_order_relaxed);
    for (;;) {
      bool had_core = state_of(word) == State::running;
      if (record.state.compare_exchange_strong(word, (word & kPermit) | next,
                                               std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
        return had_core;
      }
    }
  }

  void note(trace::Kind kind, const Record* thread, CoreIndex core) {
    if constexpr (requires { os_.note(kind, thread, core); }) os_.note(kind, thread, core);
  }

  // A thread whose waker is about to leave its core waits for that, if on some idle core somebody
  // looks after those who wait for longer [attend-1]. Where only cores are idle on which the kernel
  // would keep it waiting, it does so in any case: should the waker stay, the leader's next tick
  // is no later than its turn there.
  bool waits_behind_waker(const PolicyContext& context, ThreadIndex thread) {
    if constexpr (requires { os_.core_about_to_leave(); }) {
      CoreIndex core = os_.core_about_to_leave();
      if (core == kNoCore || length(core) != 0 || is_contended(core)) return false;
      CoreIndex last = t_.threads[thread].last_core;
      CoreIndex attended = last == core ? attended_beside(core, context.now) : kNoCore;
      if (attended == kNoCore && (is_late(core, context.now) || !all_idle_are_late(context.now)))
        return false;
      ++t_.threads[thread].counters.behind;
      if (attended == kNoCore) {
        enqueue(core, thread);
      } else {
        rely_on_attendant(attended, core, thread);
      }
      return true;
    }
    return false;
  }

  // Whether there are idle cores, all of them late.
  bool all_idle_are_late(Nanoseconds now) const {
    auto idle = [&](bool late) {
      return next_bit(t_.idle, CoreIndex{0}, t_.n_cores,
                      [&](CoreIndex core) { return is_late(core, now) == late; }) != kNoCore;
    };
    return idle(true) && !idle(false);
  }

  // A thread that sleeps is woken by whoever attends the idle core that it is to have: he need not
  // be interrupted for that as another CPU would be, and the waker goes on at once [attend-1].
  bool waits_for_attendant(const PolicyContext& context, CoreIndex home, ThreadIndex thread) {
    if (!(t_.threads[thread].state.load(std::memory_order_relaxed) & kSleeping)) return false;
    CoreIndex core = home;
    if (!is_attended(home, context.now)) {
      if (is_free(home)) return false;
      core = attended_beside(home, context.now);
    }
    if (core == kNoCore || length(core) != 0) return false;
    ++t_.threads[thread].counters.attended;
    rely_on_attendant(core, core, thread);
    return true;
  }

  // Queues the thread on `core` for as long as that of the attendant is free.
  void rely_on_attendant(CoreIndex attended, CoreIndex core, ThreadIndex thread) {
    enqueue(core, thread);
    W::fence();                       // [attend-1] the queue entry before the look at attendants
    bool crowded = length(core) > 1;  // another one has come at the same moment
    if (crowded || !is_attended(attended, os_.now())) serve_idle(core);
    if (crowded) serve_idle(core);
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
  YieldResult leave_contended(ThreadIndex self, Held held) {
    Record& record = t_.threads[self];
    if (!leave_core(record, ready_in_hands_of(os_.self()))) return YieldResult::lost_core;
    note(trace::Kind::yielded, &record, held.core);
    ++record.counters.yields;
    record.ready_ns = os_.now();
    CoreIndex home = beside_contended(held.core);
    enqueue(home, self);
    serve_idle(home);
    release(held);
    return YieldResult::handed_over;
  }

  bool release_from(Held held, bool ended, Nanoseconds lone_age) {
    ThreadIndex owner = thread_of_owner(held.word);
    return release_after(owner != kNoThread ? &t_.threads[owner] : nullptr, held, ended, lone_age);
  }

  // `left`: the thread that leaves the core; null if there was none. `lone_age`: how long a lone
  // thread elsewhere must have been READY; unless it is 0, the caller attends the core if it is
  // free then. Whether it is.
  bool release_after(Record* left, Held held, bool ended, Nanoseconds lone_age) {
    for (CoreIndex core = held.core;; held = claim_on(core)) {
      PolicyContext context = context_now();
      if (is_late(core, context.now)) lone_age = 0;
      ThreadIndex next = find_work(context, core, left, lone_age);
      while (next != kNoThread && leave_out(t_.threads[next], os_.self()))
        next = find_work(context, core, left, lone_age);
      if (next != kNoThread) {
        hand_over(context, held, next);
        return false;
      }
      if (t_.policy->core_idle) {
        CoreView cores = view();
        t_.policy->core_idle(context, core, ended, t_.cores[core].policy_words, cores);
      }
      bool aside = is_contended(core);
      note(trace::Kind::idle, nullptr, core);
      if (!aside) set_bit(t_.idle, core);
      if (!pass(held, 0)) return false;
      // [idle-1] the free core before the look at queues, which attendants take last [attend-1];
      // [contended-1] and at whether it is still set aside.
      W::fence();
      if (aside ? is_contended(core) : lone_age || !any_unattended(context.now)) return true;
      // Somebody queued while we went idle. Whoever wins the core serves the queue.
      if (!take_free(core)) return false;
    }
  }

  // Whether some queue may have threads that nobody serves at once.
  bool any_unattended(Nanoseconds now) const {
    return next_bit(t_.queued, CoreIndex{0}, t_.n_cores,
                    [&](CoreIndex core) { return !is_attended(core, now); }) != kNoCore;
  }

  // By whoever has queued a thread, after announce_queued: a core may have gone idle without having
  // seen the entry. Then it is ours to serve.
  void serve_idle(CoreIndex home) {
    W::fence();  // [idle-1] the queue entry before the look at owners
    CoreIndex idle = claim_idle(home);
    if (idle != kNoCore) release(claim_on(idle));
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
  ThreadIndex find_work(const PolicyContext& context, CoreIndex core, Record* left,
                        Nanoseconds lone_age) {
    bool aside = is_contended(core);
    if (aside && has_bit(t_.on_trial, core)) return kNoThread;
    for (bool pass_over : {true, false}) {
      Search search{core, aside ? kContendedAge : 0, pass_over};
      search.lone_age = lone_age;
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
    return let_in(core, next, from_neighbours(core, [&](CoreIndex from, std::uint32_t more) {
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

  // Whether a thread that leaves `core`, where one has been taken from the queue, may join that of
  // `seat`.
  bool is_free_seat(CoreIndex seat, CoreIndex core) const {
    return seat != core && !is_contended(seat) && length(seat) <= length(core) + 1;
  }

  // At times when `left` yields: a guest that has waited for `age` where two threads more share a
  // core than here, `left` and `next` included, or for `much_longer` elsewhere. Threads that poll
  // in turn would else be drawn from core to core, and a move costs more than some turns. A process
  // that has this core for itself keeps it for its quantum, and may then be followed by one of
  // those that share another.
  ThreadIndex look_round(const PolicyContext& context, CoreIndex core, Record& left,
                         ThreadIndex next, Nanoseconds age, Nanoseconds much_longer) {
    Nanoseconds waited = context.now - t_.threads[next].ready_ns;
    if (end_visit(left)) return next;
    ProcessIndex own = only_of(left, next);
    return let_in(core, next, from_neighbours(core, [&](CoreIndex from, std::uint32_t more) {
                    Nanoseconds least = more < 3 ? much_longer : age;
                    Search search{core, std::max(least, waited + waited / 2), true};
                    (more < 3 ? search.only : search.turn_of) = own;
                    return take_from(context, search, from);
                  }));
  }

  ProcessIndex only_of(const Record& left, ThreadIndex next) const {
    ProcessIndex process = t_.threads[next].process;
    return process == left.process ? process : kNoProcess;
  }

  // `guest`, if there is one, has the turn of `next`, which was taken from the queue of `core`.
  ThreadIndex let_in(CoreIndex core, ThreadIndex next, ThreadIndex guest) {
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

  bool grant_if_free(const PolicyContext& context, CoreIndex core, ThreadIndex thread) {
    return claim(core) && give_claimed(context, core, thread);
  }

  bool grant_idle(const PolicyContext& context, CoreIndex home, ThreadIndex thread) {
    CoreIndex core = claim_idle(home);
    return core != kNoCore && give_claimed(context, core, thread);
  }

  // By who has claimed the core: it is the thread's, after those that are queued there in reliance
  // on its attendant.
  bool give_claimed(const PolicyContext& context, CoreIndex core, ThreadIndex thread) {
    if (length(core) == 0) return give(context, claim_on(core), thread);
    enqueue(core, thread);
    release(claim_on(core));
    serve_idle(core);
    return true;
  }

  // By who leaves the core: `thread`, READY in his hands, gets it or, if it is his no more,
  // another.
  void hand_over(const PolicyContext& context, Held held, ThreadIndex thread) {
    ++t_.threads[thread].counters.switches;
    if (!give(context, held, thread)) make_ready(thread);
  }

  // By who has the core: `thread`, READY in his hands, gets it and is woken. False if the core is
  // his no more. If it is the thread that somebody has taken from him, the core is released.
  bool give(const PolicyContext& context, Held held, ThreadIndex thread) {
    CoreIndex core = held.core;
    CoreSlot<W>& slot = t_.cores[core];
    Record& record = t_.threads[thread];
    std::uint32_t grants = slot.passes.load(std::memory_order_relaxed) + 1;
    Held given{core, owned_by(thread, grants)};
    if (!pass(held, given.word)) return false;
    note(trace::Kind::granted, &record, core);
    slot.passes.store(grants, std::memory_order_relaxed);
    record.granted_ns = context.now;
    ++record.counters.grants;
    if (t_.policy->thread_moves)
      t_.policy->thread_moves(context, core, record.last_core, record.policy_words);
    if (record.last_core != core) {
      ++record.counters.migrations;
      record.last_core = core;
    }
    t_.policy->thread_granted(context, core, record.process, slot.policy_words);
    Grant granted = grant(record, core, os_.self(), [&] {
      if (record.pinned_to != core) os_.pin(record, core);
    });
    if (granted == Grant::sleeps) os_.wake(record);
    bool is_over = granted == Grant::lost || granted == Grant::left_out;
    if (is_over && pass(given, claim_word())) release(claim_on(core));
    return true;
  }
};

}  // namespace roost
