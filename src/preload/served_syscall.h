// System calls that do not come through their own libc symbol: by syscall(), or inline, trapped.
//
// Both ways end here, so that what waits, yields or concerns affinity, signals and the end of the
// process is treated as by its wrapper. The rest is the caller's to pass on.
#pragma once

#include <cstdint>

namespace roost {

struct SystemCall {
  long number;
  long a, b, c, d, e, f;
};

// The call, made by libc's instruction, from where the kernel never traps: Roost's own calls let
// the inline ones of a signal handler that interrupts them go through. -errno on error.
long made_in_kernel(const SystemCall& call);

// Makes the call and stores the kernel's result (-errno on error); false if it is not one of those
// treated. The calling thread's signal mask must be the program's. Managed threads, handlers
// included; leaves errno alone but for what starting a keeper does to it.
bool serve_syscall(const SystemCall& call, long& result);

// Whether a light thread's siblings may run while the call is served.
bool may_let_siblings_run(const SystemCall& call);

// Whether the call makes a thread or process, and with which flags (clone(2)); 0 of those if they
// cannot be read, which the kernel refuses.
bool is_clone(const SystemCall& call, std::uint64_t& flags);

}  // namespace roost
