// Alternate signal stacks (sigaltstack(2)) for the signal by which threads are asked (nudge.h).
//
// Code may compute with its stack pointer in memory that is no stack: Erlang's processes, fibres,
// the matrix kernels of oneDNN. What the kernel puts there for a signal would overwrite data. So
// each managed thread has an alternate stack of Roost's until the program sets a large enough one.
// The program sees what it has set: small ones, which Rust gives each thread, are not put in force,
// nor those that another thread has in force.
// An inline call sees what is in force; Go's runtime, which asks so, uses a stack that is there.
#pragma once

#include <signal.h>

namespace roost {

// The calling thread gets one if threads are asked by a signal; and gives it up as it ends.
void signal_stack_start();
void signal_stack_end();
void signal_stacks_after_fork();

// sigaltstack(2) of the program. 0, or a negative error number.
long program_sigaltstack(const stack_t* wanted, stack_t* before);

}  // namespace roost
