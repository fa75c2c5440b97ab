// What a new thread inherits from its creator, for kernel threads that are reused.
#pragma once

#include "preload/thread.h"

namespace roost {

// Of the calling thread, one system call.
Inherited inherited_state();
// Onto the calling thread.
void apply_inherited(const Inherited&);
// That of the calling thread from now on, as the program believes it to be.
void set_signal_mask(std::uint64_t mask);
// Blocks every signal: a kernel thread in the cache must not take one meant for the program.
void block_signals();
// Whether any signal is pending for the calling thread (or its process).
bool signals_pending();
// Before the calling thread makes prctl(option, argument, ...): what Roost must know of it.
void before_prctl(int option, unsigned long argument);
// Before it installs a seccomp filter, which may allow few calls and end the process for others:
// the thread leaves scheduling, and the inline calls of the process are the kernel's.
void before_seccomp();
// Drops signals sent to this very thread that it has not taken: they end with the program's thread.
void discard_own_signals();

}  // namespace roost
