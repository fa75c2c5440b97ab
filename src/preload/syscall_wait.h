// Which system calls may wait, by their number and arguments: for calls that reach the kernel
// without passing one of libc's functions by name.
#pragma once

namespace roost {

struct SyscallArguments {
  long a, b, c, d, e, f;
};

// Whether the call may wait now. Looks at the descriptor where that tells; consumes nothing.
// Async-signal-safe, leaves errno alone.
bool syscall_may_wait(long number, const SyscallArguments&);
// Whether a signal may end the call, which does not wait, with a part of its result or an error,
// whatever its handler's SA_RESTART.
bool syscall_may_end_early(long number);

}  // namespace roost
