// What can be told of a loop from its code alone: whether its rounds could repeat each other.
//
// Roost itself judges by execution (spin/wait_proof.h). This is the wider net, for the corpus:
// every straight loop that is not `none` here could be proved to wait if memory kept still; a
// computation among them would be one that never ends by itself.
#pragma once

#include <cstddef>

#include "spin/instruction.h"

namespace roost::spin {

enum class LoopClass {
  none,  // a register carries a value from round to round, or the loop stores, calls, or uses
         // instructions that are not on the list
  wait,  // looks at memory (or nothing) and changes nothing
  lock,  // the same, with an atomic read-modify-write that may take a lock
};

struct StaticLoop {
  LoopClass kind = LoopClass::none;
  unsigned instructions = 0;
  unsigned loads = 0;
  // If there is one load:
  MemoryOperand memory;
  unsigned width = 0;
};

// `code` is a loop from its head to its backward branch, which is the last instruction. Branches
// that leave it are fine; loops with branches inside are `none`.
StaticLoop classify_loop(const std::uint8_t* code, std::size_t size);

}  // namespace roost::spin
