// Whether a thread that wakes another one is about to leave its core.
//
// Where work is passed on from thread to thread (a token round a ring, a queue of requests,
// Python's lock) the waker waits itself a moment after its wake. The thread it woke is best served
// there then: another core, idle until now, would take it ten times as long to begin. Where the
// waker goes on computing, it would wait for nothing. So each thread learns which of the two it
// does. Decision and figures: docs/design/038-behind-the-waker.md.
#pragma once

#include <cstdint>

namespace roost {

// What is known of one thread; its own. Times are those of `ticks()` (base/ticks.h).
class LeavesSoon {
 public:
  // 3 to 15 us: about what it takes to wake an idle core.
  static constexpr std::uint64_t kSoon = 15'000;
  static constexpr std::uint8_t kEnough = 16;  // times in a row

  // It has woken a thread. The first time counts until it leaves its core. `now()` is asked for the
  // time, here and below, only if it matters.
  template <class Now>
  void woke(Now&& now) {
    if (woke_ == 0) woke_ = now();
  }

  // It leaves its core, to wait.
  template <class Now>
  void leaves(Now&& now) {
    if (woke_ == 0) return;
    bool soon = now() - woke_ <= kSoon;
    in_a_row_ = soon ? std::uint8_t(in_a_row_ + (in_a_row_ < kEnough)) : std::uint8_t{0};
    woke_ = 0;
  }

  // Whether it is likely to leave its core soon after its next wake.
  bool is_likely() const { return in_a_row_ == kEnough && woke_ == 0; }

 private:
  std::uint64_t woke_ = 0;  // 0: not since it last left a core
  std::uint8_t in_a_row_ = 0;
};

}  // namespace roost
