// Policies that are bad on purpose, in what the ledger cannot make good: to see that the properties
// of conformance_test.h are found broken.
#pragma once

#include "policy/coop.h"

namespace roost::planted {

// The first process of all first, for ever.
inline ProcessIndex first_process(const PolicyContext&, CoreIndex, CoreIndex, std::uint64_t*,
                                  const QueueView& queues) {
  return queues.next_after(kNoProcess);
}

// Another process each time.
inline ProcessIndex other_process(const PolicyContext& context, CoreIndex, CoreIndex,
                                  std::uint64_t* words, const QueueView& queues) {
  return queues.next_after(Turns(context, words).serving());
}

// Claims all idle cores from `first` on, and lets nobody have them.
template <CoreIndex first>
CoreIndex keep_cores(const PolicyContext& context, CoreIndex, std::uint64_t*, CoreView& cores) {
  for (CoreIndex core = cores.next_idle(first, context.n_cores); core != kNoCore;
       core = cores.next_idle(static_cast<CoreIndex>(core + 1), context.n_cores))
    cores.claim(core);
  return kNoCore;
}

constexpr Policy changed(const char* name, decltype(Policy::core_free) core_free,
                         decltype(Policy::place) place) {
  Policy policy = kCoop;
  policy.name = name;
  policy.core_free = core_free;
  policy.place = place;
  return policy;
}

inline constexpr Policy kStarves = changed("starves", first_process, nullptr);
inline constexpr Policy kIgnoresTheQuantum = changed("ignores_the_quantum", other_process, nullptr);
inline constexpr Policy kLeavesCoresIdle =
    changed("leaves_cores_idle", coop::core_free, keep_cores<1>);
inline constexpr Policy kLosesThreads = changed("loses_threads", coop::core_free, keep_cores<0>);

}  // namespace roost::planted
