// Whether the calling thread may be in a signal handler of the program's.
#pragma once

namespace roost {

// True also if that cannot be told, and where an ended handler's frame is still on the stack. Reads
// the stack: tens of microseconds.
bool perhaps_in_handler();

}  // namespace roost
