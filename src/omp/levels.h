// What depends on how deep a region is nested.
#pragma once

#include "omp/team.h"

namespace roost::omp {

// Values that OMP_NUM_THREADS and OMP_PROC_BIND give for a level.
void inherit_by_level(Icvs& icvs, unsigned level);

// Whether each member of the team has an OS thread of its own, always the same for the same number
// in successive regions. Others share OS threads where there are more members than cores to spare,
// and with them thread-local variables. By default these are the outermost regions of programs that
// have thread-local variables themselves (gcc's threadprivate is one), and all regions while a tool
// is attached: tools keep what is open by thread. ROOST_OMP_LEVELS=N: all regions up to level N.
bool on_os_threads(const Team& team);

// Regions whose members wait for each other by spinning, by their functions: learned when it is
// seen. Such members had better run all at once, each on a core, or all on one core, where each
// wait costs a switch between light threads. In between, each would cost one between OS threads.
// Where one polls so that nobody sees it wait, others must be free to begin the rest; and where
// they block in libc unseen, as without Roost, each needs an OS thread of its own. `unseen`: of a
// region that runs for the first time.
enum class Waiting { unseen, calm, spinning, polling, blocking };
// By who ends a region of several members.
void learn_waiting(const Team& team);
Waiting how_waiting(const void* function);
// By who opens a region: what to make of it. Now and then `unseen` for one that is remembered as
// blocking: what its members waited for may have been there only at first (libraries load and
// allocate), and OS threads are dear. So `spinning` for one that polls.
Waiting waiting_to_expect(const void* function);
// Whether its members compute for long and do not wait for members that have not begun; learned,
// too.
bool computes_for_long(const void* function);

}  // namespace roost::omp
