// Sending members of a team to threads when its region begins; who is sent nowhere is a ticket.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// Whether more threads want cores than there are. If not, a worker that listens has a core.
bool crowded();

// Sends calls of a batch to workers that listen, one after the other; wakes one for them if there
// is a core for it.
class Courier {
 public:
  static constexpr unsigned kNobody = ~0u;

  Courier() = default;  // has nobody to send to
  // Has workers for so many calls, makes them if need be.
  explicit Courier(unsigned calls);

  // The worker that takes it; kNobody: none does, and none would take the next. `after_unseen`: it
  // is worth waiting for workers that are on their way from the batch's last calls.
  unsigned send(ult::Batch& batch, unsigned call, bool after_unseen = false);

 private:
  unsigned next_ = 0, workers_ = 0;
  unsigned fresh_ = 0;  // from here on they were just made, and listen as soon as they have begun
  bool spare_ = false;  // there is a core for one that is woken
  bool asked_ = false;
};

// Sends members to workers that listen, from the first on. `after_unseen`: in the team's last
// region workers stayed in case there were tasks.
void send_members(Team& team, bool after_unseen);
// Sends each member to an OS thread of its own, the same for the same number each time:
// thread-local variables are to be found again. Of the last region of this team all is done but the
// way back.
void send_to_own_threads(Team& team);

// Ends workers that have nothing to do, or will in a moment. They are made again when needed.
void dismiss_idle_workers();

}  // namespace roost::omp
