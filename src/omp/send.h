// Sending members of a team to threads when its region begins; who is sent nowhere is a ticket.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// Whether more threads want cores than there are. If not, a worker that listens has a core.
bool crowded();
// Sends members to workers that listen, from the first on. `after_unseen`: in the team's last
// region workers stayed in case there were tasks.
void send_members(Team& team, bool after_unseen);
// Sends each member to an OS thread of its own, the same for the same number each time:
// thread-local variables are to be found again. Of the last region of this team all is done but the
// way back.
void send_to_own_threads(Team& team);

}  // namespace roost::omp
