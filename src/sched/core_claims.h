// How a free core becomes somebody's, and who looks after one meanwhile (sched/PROTOCOL.md).
#pragma once

#include "sched/thread_search.h"

namespace roost {

template <class W, class Os>
class CoreClaims : public ThreadSearch<W, Os> {
  using Searches = ThreadSearch<W, Os>;

 public:
  using Searches::Searches;

  // By a thread that has left `core` idle and spins there: it looks for threads that have been
  // READY for too long, and says so at each look, until `Ledger::end_attendance`.
  void attend(CoreIndex core, Nanoseconds now) {
    if (!is_late(core, now)) t_.cores[core].attended_ns.store(now, std::memory_order_relaxed);
  }

  // The kernel has kept a thread from the CPU of `core`: for a while nobody relies on whoever
  // attends that.
  void note_late(CoreIndex core, Nanoseconds now) {
    t_.cores[core].late_until_ns.store(now + kRemembered, std::memory_order_relaxed);
  }
  // When it did so last; 0: never.
  Nanoseconds late_at(CoreIndex core) const {
    Nanoseconds until = t_.cores[core].late_until_ns.load(std::memory_order_relaxed);
    return until ? until - kRemembered : 0;
  }

 protected:
  using Searches::is_attended;
  using Searches::is_free;
  using Searches::is_late;
  using Searches::length;
  using Searches::os_;
  using Searches::t_;

  // The owner word of a core that the caller serves.
  std::uint32_t claim_word() { return kClaimedCore | os_.self(); }
  Held claim_on(CoreIndex core) { return {core, claim_word()}; }

  // Gives a core up. False if it is not the caller's any more.
  bool pass(Held held, std::uint32_t to) {
    return t_.cores[held.core].owner.compare_exchange_strong(
        held.word, to, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  // Makes a free core the caller's; false if it has an owner.
  bool take_free(CoreIndex core) {
    if (!pass({core, 0}, claim_word())) return false;
    // Before the grant: only the next owner may set the bit again.
    clear_bit(t_.idle, core);
    return true;
  }

  bool claim(CoreIndex core) { return is_free(core) && take_free(core); }

  // An idle core, of home's NUMA node first, claimed; kNoCore if there is none.
  CoreIndex claim_idle(CoreIndex home) {
    if (claim(home)) return home;
    return nearest_bit(t_, t_.idle, home, [&](CoreIndex core) { return claim(core); });
  }

  // A core that somebody attends, of home's NUMA node first; kNoCore if there is none.
  CoreIndex attended_beside(CoreIndex home, Nanoseconds now) const {
    return nearest_bit(t_, t_.idle, home, [&](CoreIndex core) { return is_attended(core, now); });
  }

  // What a policy may see and do (policy/policy.h).
  CoreView view() {
    static constexpr CoreView::Answers kAnswers{
        [](void* claims, CoreIndex core) { return of(claims).claim(core); },
        [](void* claims, CoreIndex first, CoreIndex end) {
          return next_bit(of(claims).t_.idle, first, end);
        },
        [](void* claims, CoreIndex core) { return of(claims).length(core); },
        [](void* claims, CoreIndex core) -> std::uint64_t {
          return of(claims).t_.cores[core].policy_shared.load(std::memory_order_relaxed);
        },
        [](void* claims, CoreIndex core, std::uint64_t from, std::uint64_t to) {
          return of(claims).t_.cores[core].policy_shared.compare_exchange_strong(
              from, to, std::memory_order_acq_rel, std::memory_order_relaxed);
        }};
    return {this, kAnswers};
  }

 private:
  static constexpr Nanoseconds kRemembered = 100'000'000;

  static CoreClaims& of(void* claims) { return *static_cast<CoreClaims*>(claims); }
};

}  // namespace roost
