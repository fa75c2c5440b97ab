// Cores on which threads run that Roost does not know, and that are better left alone.
//
// The kernel shares such a core in slices of some milliseconds, and who is granted it may wait for
// a slice. Threads that wait for each other at every turn (a barrier) then all wait. So the leader
// sets a core aside if threads start late on it and not on the others: it is granted only to
// threads that have been READY for longer than a slice (Ledger::kContendedAge), which independent
// ones are and those of a barrier are not. Decision and figures:
// docs/design/012-contended-cores.md.
#pragma once

#include <algorithm>

#include "base/types.h"

namespace roost {

// What is decided, without looking at or changing anything.
namespace contention {

inline constexpr Nanoseconds kWindow = 40'000'000;   // between two decisions
inline constexpr std::uint32_t kLatePermille = 120;  // of the window, to be suspected
inline constexpr std::uint32_t kWindows = 3;         // in a row, to be set aside
inline constexpr Nanoseconds kTrial = 100'000'000;   // free of us, to see whether others use it
inline constexpr std::uint32_t kBusyPermille = 500;  // of the trial, to stay aside
inline constexpr Nanoseconds kNextTrial = 2'000'000'000;
inline constexpr Nanoseconds kFirstPause = 100'000'000, kLongestPause = 30'000'000'000;

// Of one core.
struct History {
  std::uint32_t late_us;        // the segment's count when the window began
  std::uint32_t late_permille;  // of the last window
  std::uint32_t late_windows;   // so many in a row were late
  bool aside;
  bool on_trial;
  bool left;          // by its last owner, since the trial began
  Nanoseconds tried;  // when that was
  Nanoseconds pause;  // for so long it will not be set aside again, after a mistake
  Nanoseconds not_before;
  Nanoseconds looked;  // when it was left, and the following were read
  std::uint64_t busy_ticks;
  std::uint32_t passes;
};

// The core to set aside, kNoCore if there is none: late by itself, while the others that are in use
// are not. No more than half of the cores are, and never the last.
inline CoreIndex to_set_aside(const History* cores, CoreIndex n, Nanoseconds now) {
  CoreIndex worst = kNoCore;
  unsigned aside = 0;
  for (CoreIndex core = 0; core < n; ++core) {
    aside += cores[core].aside;
    if (!cores[core].aside && now >= cores[core].not_before &&
        (worst == kNoCore || cores[core].late_permille > cores[worst].late_permille))
      worst = core;
  }
  if (worst == kNoCore || cores[worst].late_windows < kWindows || 2 * (aside + 1) > n)
    return kNoCore;
  std::uint64_t others = 0;
  for (CoreIndex core = 0; core < n; ++core)
    if (core != worst && !cores[core].aside) others += cores[core].late_permille;
  return others * 4 <= std::uint64_t{cores[worst].late_permille} * (n - aside - 1u) ? worst
                                                                                    : kNoCore;
}

// Whether the cores in use are so late themselves that leaving others alone gains nothing.
inline bool all_are_late(const History* cores, CoreIndex n) {
  for (CoreIndex core = 0; core < n; ++core)
    if (!cores[core].aside && cores[core].late_windows < kWindows) return false;
  return true;
}

}  // namespace contention

struct Segment;

// By whoever begins to lead: what the leader before knew is lost, so no core is set aside.
void contention_begin(Segment& s);
// By the leader, at each of its ticks: sets cores aside, gives them to threads that have waited
// long enough, and puts them back.
void contention_tick(Segment& s, Nanoseconds now, bool threads_wait);
// The core is shared between two threads of the instance: it is no wonder if one is late.
void contention_shared(CoreIndex core);
// Whether any core is set aside.
bool contention_any();

}  // namespace roost
