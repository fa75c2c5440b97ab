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
// Of threads that hand work round, few or each for microseconds, all wait for the one that is late,
// again and again: a core that is late twice within kAgain is left alone for a while at once.
inline constexpr Nanoseconds kApart = 2'000'000, kAgain = 40'000'000;
inline constexpr Nanoseconds kFirstWhile = 100'000'000, kLongestWhile = 400'000'000;
inline constexpr Nanoseconds kMoment =
    50'000;                            // threads had a core for less than that, as found by
inline constexpr unsigned kLooks = 4;  // so many looks in a row

// Of what the last looks found, weighed by how recent they are.
class Mean {
 public:
  constexpr Mean() = default;
  constexpr explicit Mean(unsigned at_first) : mean_(at_first * kOne) {}
  void add(unsigned found) { mean_ = ((kWeight - 1) * mean_ + found * kOne) / kWeight; }
  // A little less where each look found the same.
  unsigned permille() const { return mean_ * 1000 / kOne; }

 private:
  static constexpr unsigned kWeight = 8, kOne = 4096;
  unsigned mean_ = 0;
};

// Of one core.
struct History {
  std::uint32_t late_us;        // the segment's count when the window began
  std::uint32_t late_permille;  // of the last window
  std::uint32_t late_windows;   // so many in a row were late
  unsigned moments;             // looks in a row that found its thread there for a moment only
  Mean beside;                  // looks that found threads of ours beside its owner a moment ago
  Nanoseconds late_at;          // the last time it was late, of those that count
  bool aside;
  bool for_a_while;           // until `back_at` only
  Nanoseconds back_at;        // or when it came back the last time
  Nanoseconds while_lasting;  // for so long
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

// Whether the core was late at `late_at` once more within kAgain, and not by the same slice; or as
// soon as it was back.
inline bool is_late_again(History& core, Nanoseconds late_at) {
  if (late_at < core.late_at + kApart) return false;
  bool soon = late_at - core.late_at < kAgain;
  bool soon_back = late_at >= core.back_at && late_at - core.back_at < kAgain;
  core.late_at = late_at;
  return soon || soon_back;
}

// For how long the core is left alone next: longer where it is late as soon as it is back.
inline Nanoseconds next_while(const History& core, Nanoseconds now) {
  bool soon = core.back_at && now - core.back_at < kAgain;
  return soon ? std::min(2 * core.while_lasting, kLongestWhile) : kFirstWhile;
}

// Whether that core may be left alone for a while: most others are not late; or `in_use`, the
// cores that have owners (mean, in permille), are so few that nobody needs it. (Others' threads
// change CPUs with ours, who then are late on all in turn.)
inline bool may_be_left(const History* cores, CoreIndex n, CoreIndex core, unsigned in_use,
                        Nanoseconds now) {
  constexpr unsigned kTolerance = 250;
  unsigned aside = 0, late = 0;
  for (CoreIndex other = 0; other < n; ++other) {
    aside += cores[other].aside;
    late += other != core && !cores[other].aside && now - cores[other].late_at < kAgain;
  }
  if (cores[core].aside || 2 * (aside + 1) > n) return false;
  unsigned left = n - aside - 1u;
  return late * 4 <= left || in_use <= left * 1000 + kTolerance;
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
// At each tick: of the places beside the core one was taken `age` ago, and none since.
void contention_beside(CoreIndex core, Nanoseconds age);
// Whether any core is set aside.
bool contention_any();

}  // namespace roost
