// SCHED_COOP (USF section 4.1): a thread runs until it blocks or yields; its core then serves the
// same process's READY threads first-in first-out, and turns to the next process once the quantum
// is over, with interludes for those that need it for moments only (policy/turns.h).
//
// The quantum is looked at only when a core changes hands; nobody is preempted. Placement is by
// last core; the ledger widens to the NUMA node and the machine when that core is taken.
#pragma once

#include "policy/turns.h"

namespace roost {

namespace coop {

inline CoreIndex thread_ready(const PolicyContext&, CoreIndex last_core, std::uint64_t*,
                              CoreView&) {
  return last_core;
}

inline ProcessIndex core_free(const PolicyContext& context, CoreIndex, CoreIndex,
                              std::uint64_t* core_words, const QueueView& queues) {
  return Turns(context, core_words).next(queues);
}

inline void thread_granted(const PolicyContext& context, CoreIndex, ProcessIndex process,
                           std::uint64_t* core_words) {
  Turns(context, core_words).granted(process);
}

inline void core_idle(const PolicyContext& context, CoreIndex, bool, std::uint64_t* core_words,
                      CoreView&) {
  Turns(context, core_words).idle();
}

inline constexpr PolicyParameter kParameters[] = {
    {"quantum", "ns",
     "How long a core serves one process before it turns to the next; looked at when the core "
     "changes hands.",
     20'000'000, 0, 10'000'000'000},
    {"idle_spin", "ns",
     "How long the last thread of a core that nobody needs spins before it sleeps; about what a "
     "wake-up across cores costs.",
     50'000, 0, 10'000'000},
    {"patience", "ns",
     "How long a thread may run past its last scheduling point while others wait; then the kernel "
     "shares its core between it and the next.",
     4'000'000, 1'000'000, 10'000'000'000},
    {"brief", "ns",
     "A process whose turns are shorter need not wait for another's quantum: it has the core for "
     "so long once the other has had it for as long. 0: it waits.",
     1'000'000, 0, 10'000'000'000},
    {"beside", "ns",
     "A thread that needs a core for less than this between two waits in the kernel goes on "
     "without one, beside those that have the cores. 0: none does.",
     500'000, 0, 10'000'000},
};

}  // namespace coop

inline constexpr Policy kCoop = {
    "coop",
    "Threads run until they block or yield; first-in first-out per process and core, processes "
    "take turns.",
    coop::kParameters,
    5,
    0x636f6f7002,
    coop::thread_ready,
    coop::core_free,
    coop::thread_granted,
    nullptr,
    nullptr,
    coop::core_idle,
};

}  // namespace roost
