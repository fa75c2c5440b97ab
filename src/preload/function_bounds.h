// Where the function around an address begins and ends, by the unwind tables of its object.
#pragma once

#include <cstdint>

namespace roost {

struct FunctionBounds {
  std::uint64_t start;
  std::uint64_t end;       // start of the next function
  std::uint64_t text_end;  // of the object's mapped code
};

// False if no loaded object has `address` in its code, or none of its tables tells. Any thread;
// takes the dynamic linker's lock.
bool find_function(std::uint64_t address, FunctionBounds& bounds);
// For who is in a section that no fork cuts in two already (fork_gate.h).
bool find_function_unforked(std::uint64_t address, FunctionBounds& bounds);

}  // namespace roost
