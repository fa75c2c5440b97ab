// What OpenMP keeps for each OS thread: its initial task, and its teams.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// What the calling OS thread's carrier keeps for OpenMP (Carrier::user).
struct Root {
  Team team;  // of the initial thread: level 0
  Member member;
  Team* free_teams = nullptr;  // by last use
  Root* next = nullptr;        // among those whose threads have ended
};

// The carrier's, which is the caller's; made at the first call.
Root& root_of(ult::Carrier& carrier);

// A new member's number, which is nobody else's.
std::int32_t take_gtid();

// Around a fork: nobody is changing the list of roots meanwhile; the child begins with its own
// alone.
void lock_roots_before_fork();
void unlock_roots_after_fork();
void keep_own_root_after_fork();

}  // namespace roost::omp
