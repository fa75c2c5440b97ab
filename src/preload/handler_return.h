// Handlers return through two instructions of ours, which take the address that led there off the
// stack. So the frame of a handler that is over does not look like that of one under way, which
// preload/in_handler.h looks for.
//
// The kernel returns from handlers to the *restorer* that libc's sigaction names. Ours takes its
// place where the program sets a handler through libc, and no other library stands before that.
// Frames that handlers leave by a jump stay as they are, and so do those of handlers that are set
// by system calls of the program's own.
#pragma once

#include <signal.h>

#include <cstdint>

namespace roost {

// Where libc has handlers return to is learnt by a signal's action, set once more as it is: at the
// start, as other threads must not change it meanwhile; else before the first handler.
void handler_returns_start();
// libc's sigaction(2), but that handlers return through ours. One system call, as by libc: no other
// action is the signal's in between.
int lead_action(int signal, const struct sigaction* action, struct sigaction* before);

// Where handlers return to: ours, and libc's where that has not been replaced; 0: none.
struct HandlerReturns {
  std::uint64_t ours, libcs;
};
HandlerReturns handler_returns();
// Whether a thread that has come to the address is returning from a handler.
bool in_handler_return(std::uint64_t address);

}  // namespace roost
