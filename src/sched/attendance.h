// What a thread does for others while it spins on a core that it has left idle (sched/PROTOCOL.md).
#pragma once

#include "sched/ledger.h"
#include "sched/self.h"

namespace roost {

// Attends `core` while it lives: threads that wait behind their wakers
// (Ledger::waits_behind_waker) rely on somebody who sees that a waker does not leave its core.
template <class Ledger>
class Attendance {
 public:
  // `name`: as for CoreClaims::attend.
  Attendance(Ledger& ledger, CoreIndex core, std::uint32_t name) : ledger_(ledger), core_(core) {
    self.attends = core;
    ledger.attend(core, name);
  }
  ~Attendance() { abandon(ledger_); }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

  // Every microsecond or so: the core serves threads that are queued where no core has changed
  // hands since an earlier look.
  void look(Nanoseconds now) {
    auto queue = ledger_.first_queue();
    if (queue.core == kNoCore || queue.core != seen_.core || queue.passes != seen_.passes) {
      seen_ = queue;
      since_ = now;
    } else if (now - since_ >= kTooLong) {
      Critical critical;
      ledger_.serve_free(core_);
    }
  }

  // Before a signal handler jumps out of the caller's attendance, if it is in one.
  static void abandon(Ledger& ledger) {
    if (self.attends == kNoCore) return;
    Critical critical;
    ledger.end_attendance(self.attends);
    self.attends = kNoCore;
  }

  static constexpr Nanoseconds kTooLong = 3'000;

 private:
  Ledger& ledger_;
  CoreIndex core_;
  typename Ledger::Queue seen_{};
  Nanoseconds since_ = 0;
};

}  // namespace roost
