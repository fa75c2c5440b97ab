// Goes on in a thread's place: executes its next instructions as the thread itself would.
#pragma once

#include "spin/wait_proof.h"

namespace roost::spin {

// Executes `steps` instructions, memory included. Stops before one that it does not know; the
// thread may go on by itself from wherever that is. True if it has executed all of them. By the
// thread itself, on another stack than the one that the registers say, with its signals blocked.
bool go_on_for(Registers& registers, ReadCodeWindow code, unsigned steps);

}  // namespace roost::spin
