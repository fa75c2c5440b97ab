// SCHED_COOP (USF section 4.1): a thread runs until it blocks or yields; its core then serves the
// same process's READY threads first-in first-out, and turns to the next process once the quantum
// is over.
//
// The quantum is looked at only when a core changes hands; nobody is preempted. Placement is by
// last core; the ledger widens to the NUMA node and the machine when that core is taken.
#pragma once

#include "policy/policy.h"

namespace roost {

namespace coop {

enum CoreWord { current_process, slice_start };  // current_process: index + 1, 0 none

inline CoreIndex thread_ready(const PolicyContext&, CoreIndex last_core, std::uint64_t*,
                              CoreView&) {
  return last_core;
}

inline ProcessIndex core_free(const PolicyContext& context, CoreIndex, CoreIndex,
                              std::uint64_t* core_words, const QueueView& queues) {
  ProcessIndex current = static_cast<ProcessIndex>(core_words[current_process] - 1);
  bool expired = context.now - core_words[slice_start] >= context.parameters[0];
  if (!expired && queues.has(current)) return current;
  return queues.next_after(current);
}

inline void thread_granted(const PolicyContext& context, CoreIndex, ProcessIndex process,
                           std::uint64_t* core_words) {
  bool expired = context.now - core_words[slice_start] >= context.parameters[0];
  if (core_words[current_process] != process + 1u || expired) {
    core_words[current_process] = process + 1u;
    core_words[slice_start] = context.now;
  }
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
};

}  // namespace coop

inline constexpr Policy kCoop = {
    "coop",
    "Threads run until they block or yield; first-in first-out per process and core, processes "
    "take turns.",
    coop::kParameters,
    3,
    0x636f6f7001,
    coop::thread_ready,
    coop::core_free,
    coop::thread_granted,
};

}  // namespace roost
