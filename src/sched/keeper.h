// The keeper: one helper thread per process that needs one; the leader among them watches the
// instance.
//
// A process starts its keeper before it creates a thread. One with a single thread stays so, as its
// own code and the kernel may ask for that (fork servers with a sandbox, unshare(2)): while that
// thread waits for a core it looks at the instance itself, unless a keeper leads, and starts one
// only where it has put another thread at large, which it may leave behind. Where a process has
// come to be single-threaded, the keeper ends after a while. So whenever a thread is READY somebody
// watches. Keepers queue on a robust lock in the segment; the kernel hands it on when the leader
// dies. While a leader is stopped another keeper is its watchdog. The leader
//   - waits for the death of any process (pidfd) and gives back what it held,
//   - grants on the core of a thread that sleeps in a call Roost does not know (the watchdog).
// It runs with all signals blocked and a file table of its own, so the program never sees its
// files.
#pragma once

#include "sched/runtime.h"

namespace roost {

void keeper_bind(Segment& segment, ProcessIndex process, const Policy& policy,
                 const LibcThreads& libc);
// Starts this process's keeper unless it runs. Must not be called inside a Critical section. Where
// none can be started, the caller looks itself from time to time, if it waits.
void keeper_start();
// The same if there is no leader, after the caller has come to be at large or has seen that others
// are. [keeper-2]
void keeper_start_unless_led();
bool keeper_started();
// By a thread that has been READY for keeper_next_look(), of a process without a keeper: looks at
// the instance if nobody else does.
void keeper_look_instead();
Nanoseconds keeper_next_look();
// By a process that ends in good order: its keeper will not lead any more.
void keeper_leaves();
// Whether a thread may be created where the caller is; asked in processes that have no other.
void keeper_set_permit(bool (*may_start)());
// What this process's keeper does besides, whether it leads or not: at every tick of a leader, else
// twice a second, or as soon as the last one has said, in ns. Must not wait for anything of the
// program's. Before the keeper starts.
void keeper_set_chore(Nanoseconds (*chore)());
// Whether this process's keeper ends as soon as the process has one thread, which happens within
// half a second; otherwise after a second or two.
void keeper_want_end(bool wanted);
// Before the segment is unmapped, by a process whose keeper is not started.
void keeper_await_end();
void keeper_after_fork();

// Starts an unmanaged, detached thread of this process with all signals blocked.
bool start_helper(void* (*run)(void*));

// By the leader alone: gives back what a process in state `dead` held: cores at once, records and
// slot after a grace in which a grant already under way may still reach them. True once all is
// free.
bool keeper_reclaim(Segment& segment, ProcessIndex dead);

// One look at the instance, exposed for tests: dead processes, then the watchdog.
void keeper_look(Segment& segment, ProcessIndex own);

}  // namespace roost
