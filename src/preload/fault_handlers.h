// Whether the program handles its own faults: its handlers may know the instruction by address, or
// unwind from it, so it has to stay where it is.
#pragma once

#include <cstdint>

namespace roost {

// Whether `handler` of the signal is the program's and the signal is one that an instruction which
// reads memory raises. Roost's OpenMP runtime handles overflows of stacks, and no others.
bool is_fault_handler(int signal, std::uint64_t handler);
// Whether one is in force. Asks the kernel.
bool program_handles_faults();

}  // namespace roost
