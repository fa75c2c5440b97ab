// Handlers return through two instructions of ours, which take the address that led there off the
// stack. So the frame of a handler that is over does not look like that of one under way, which
// preload/in_handler.h looks for.
//
// The kernel returns from handlers to the *restorer* that libc's sigaction names. Ours takes its
// place where the program sets a handler through libc. Frames that handlers leave by a jump stay as
// they are, and so do those of handlers that are set by system calls of the program's own.
#pragma once

#include <signal.h>

#include <cstdint>

namespace roost {

// After the program has set a handler of the signal. Of what the kernel has, nothing else changes.
void lead_handler_return(int signal);

// libc's sigaction `real` for a handler with SA_RESETHAND: what the kernel has cannot be changed
// afterwards, as the handler may have come meanwhile.
using LibcsSigaction = int(int, const struct sigaction*, struct sigaction*);
int set_handler_once(LibcsSigaction* real, int signal, const struct sigaction& action,
                     struct sigaction* before);

// Where handlers return to: ours, and libc's where that has not been replaced; 0: none.
struct HandlerReturns {
  std::uint64_t ours, libcs;
};
HandlerReturns handler_returns();
// Whether a thread that has come to the address is returning from a handler.
bool in_handler_return(std::uint64_t address);

}  // namespace roost
