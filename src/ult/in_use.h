// Whether the process has used the library, for forks.
//
// Where it has not a fork touches none of the library's memory, each page of which would cost the
// child a copy. A thread that begins to use it meanwhile waits until the fork is over: either the
// fork sees it in use, or that thread sees the fork.
//
//   fork:    blind += 1; in use? blind -= 1, takes all locks: not blind [fork-1]
//   thread:  in use = true; waits until blind = 0 [fork-1]
#pragma once

namespace roost::ult {

// Before anything is begun that a fork must not leave half done; any number of times.
void begin_use();

// Before a fork, in its thread: whether the library is in use. If not, one of the others is called
// after it.
bool is_used_at_fork();
void blind_fork_is_over();
void forget_blind_forks();  // in the child, in any case

}  // namespace roost::ult
