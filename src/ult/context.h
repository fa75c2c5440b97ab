// Suspended flows of control and the switch between them (switch_x86_64.S, switch_aarch64.S).
//
// A suspended flow is its stack pointer: the registers that a call preserves lie on its stack, the
// floating-point control words among them. A switch costs about 5 ns.
#pragma once

#include <cstddef>

namespace roost::ult {

// Suspends the caller, leaving its stack pointer in *from, and resumes `to`. Returns once somebody
// resumes the caller.
extern "C" void roost_ult_switch(void** from, void* to);

// Lays out a stack so that the first switch to the result calls entry(argument), which may not
// return. `top`: the end of the stack, of 16 bytes' alignment. Backtraces end at `entry`.
void* prepare_context(void* top, void (*entry)(void*), void* argument);

}  // namespace roost::ult
