// What a thread does for others while it spins on a core that it has left idle (sched/PROTOCOL.md).
#pragma once

#include "sched/ledger.h"
#include "sched/self.h"

namespace roost {

// Attends `core` while it lives. Sleepers that are to have it rely on that
// (CoreGrants::waits_for_attendant), and so do threads that wait behind their wakers
// (waits_behind_waker) or were left at their cores (release_to_attend): somebody has to see that
// those cores do not come free.
template <class Ledger>
class Attendance {
 public:
  Attendance(Ledger& ledger, CoreIndex core, Nanoseconds now) : ledger_(ledger), core_(core) {
    self.attends = core;
    ledger.attend(core, now);
  }
  ~Attendance() {
    self.attends = core_;  // a jump between handlers may have ended it
    abandon(ledger_);
    self.attends = before_;
  }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

  // All the time: who is queued for the core gets it.
  void serve() {
    if (!ledger_.is_called(core_)) return;
    Critical critical;
    ledger_.serve_free(core_);
  }

  // Every microsecond or so: the core serves threads that are queued for one that has not changed
  // hands since an earlier look. If it has, the next one with a queue is looked at.
  void look(Nanoseconds now) {
    ledger_.attend(core_, now);
    auto queue = ledger_.first_queue(seen_.core);
    if (queue.core == seen_.core && queue != seen_)
      queue = ledger_.first_queue(static_cast<CoreIndex>(seen_.core + 1));
    if (queue.core == kNoCore || queue != seen_) {
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
    end(ledger, self.attends);
    self.attends = kNoCore;
  }

  // By who was to attend the core, and is not able to.
  static void end(Ledger& ledger, CoreIndex core) {
    Critical critical;
    ledger.end_attendance(core);
  }

  static constexpr Nanoseconds kTooLong = 3'000;

 private:
  CoreIndex before_ = self.attends;  // in a wait that the handler this one is in has interrupted
  Ledger& ledger_;
  CoreIndex core_;
  typename Ledger::Queue seen_{};
  Nanoseconds since_ = 0;
};

}  // namespace roost
