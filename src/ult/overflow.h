// What happens when a light thread runs out of stack: one sentence that names the variable by which
// stacks are made larger, and then what would have happened anyway.
//
// Below each light stack lies a guard of 1 MiB. A handler for SIGSEGV, installed with the first
// light stack, knows a fault there; then, as for all other faults, it leaves the signal to whatever
// the program had installed before: its handler, or the default action at the same instruction, so
// that core dumps show it. A handler that the program installs later replaces ours, and nothing is
// said.
//
// The handler needs another stack than the one that is full. Threads without an alternate signal
// stack get one; nobody may switch strands on it, since a signal in the next strand would begin
// there, too.
#pragma once

namespace roost::ult {

struct Carrier;

// Before the calling carrier's first call on a light stack. Up to seven system calls, once. From
// then on the carrier has an alternate stack, if there was memory, whether it is in force or not.
void watch_for_overflow(Carrier& own);
// The calling carrier's thread ends: takes its alternate stack back, if it still is ours.
void end_watch_for_overflow(Carrier& own);

// Whether the caller is in a signal handler on the alternate stack that the carrier was given.
bool on_alternate_stack(const Carrier& own);

}  // namespace roost::ult
