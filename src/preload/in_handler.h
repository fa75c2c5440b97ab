// Whether the calling thread may be in a signal handler of the program's.
#pragma once

namespace roost {

// True also where an ended handler's frame is still on the stack, or the stack is deep. Reads the
// stack by system calls: tens of microseconds.
bool perhaps_in_handler();

}  // namespace roost
