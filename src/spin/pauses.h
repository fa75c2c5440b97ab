// Finds the `pause` (or `tpause`) by which a thread spins whose rounds no proof follows: searches
// for work with an index by chance, rounds with instructions that are not on the list.
//
// That hint is for wait loops, and no computation has it. So a thread that comes by the same one
// twice looks for something that others are to do, and nothing is lost if it looks later. What it
// waits for is not known.
#pragma once

#include "spin/long_wait.h"

namespace roost::spin {

// The address of such an instruction, or 0. The thread's next instructions are executed on a copy,
// at most `steps`, 20 ns each. Needs 40 KiB of stack.
std::uint64_t find_pause(const Registers& start, const Reader& reader, unsigned steps);

}  // namespace roost::spin
