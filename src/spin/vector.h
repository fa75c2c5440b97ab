// Vector and floating-point instructions of a proof: SSE and SSE2, as far as compilers use them for
// copies of structures and for arithmetic. Part of spin/execute.h and spin/instruction.h.
#pragma once

#include "spin/execute.h"

namespace roost::spin {

// Of map 1, without VEX. False for what is not on the list.
bool decode_vector(const Form& form, Instruction& instruction);

struct VectorOperands {
  Vector destination, source;  // what is read of them; the rest is 0
  bool from_register;          // the source is a vector register, not memory
};

// What the destination becomes, or the flags. Rounds as the caller's MXCSR says, and sets its
// flags.
bool execute_vector(const Instruction& instruction, const VectorOperands& operands, Vector& result,
                    std::uint32_t& flags);

}  // namespace roost::spin
