// Tells whether machine code waits or yields by system calls of its own instead of libc's.
#pragma once

#include <cstddef>

namespace roost::os {

// Whether `code` holds a `syscall` instruction with the number of a call that waits, yields or
// concerns affinity loaded into a register shortly before it. Without decoding: it may be wrong
// either way, rarely (docs/design/004-syscall-trap.md). About 10 bytes a nanosecond; reads all of
// it.
bool waits_inline(const unsigned char* code, std::size_t bytes);

}  // namespace roost::os
