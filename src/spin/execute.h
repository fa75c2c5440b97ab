// Executes instructions of spin/instruction.h on a copy of a thread's registers.
//
// Memory is read and never written: a store is allowed only where it would leave memory as it is
// (a compare-and-exchange that fails, a spill of what was spilled before). So what is executed here
// is what the thread itself would do next, minus effects that nobody could see.
#pragma once

#include "spin/instruction.h"

namespace roost::spin {

enum Flag : std::uint32_t {
  kCarry = 1u << 0,
  kParity = 1u << 2,
  kZero = 1u << 6,
  kSign = 1u << 7,
  kOverflow = 1u << 11,
};
inline constexpr std::uint32_t kFlags = kCarry | kParity | kZero | kSign | kOverflow;

struct Registers {
  std::uint64_t general[16];  // in the encoding's order: RAX RCX RDX RBX RSP RBP RSI RDI R8 ...
  std::uint64_t instruction_pointer;
  std::uint32_t flags;    // of kFlags
  std::uint32_t unknown;  // those that an instruction left undefined

  bool operator==(const Registers&) const = default;
};

// Reads `width` bytes (1, 2, 4, 8) at `address`. False if they cannot be read.
using ReadMemory = bool (*)(std::uint64_t address, unsigned width, std::uint64_t& value);

// A word that was read.
struct Load {
  std::uint64_t address;
  std::uint64_t value;
  std::uint8_t width;

  bool operator==(const Load&) const = default;
};

struct Effect {
  bool jumped;  // a jump was taken
  bool loaded;
  Load load;
};

std::uint64_t address_of(const MemoryOperand& memory, const Registers& registers,
                         std::uint64_t next_instruction);

// False if the instruction would change memory, reads what cannot be read, or depends on an
// undefined flag; `registers` are then of no use.
bool execute(const Instruction& instruction, ReadMemory memory, Registers& registers,
             Effect& effect);

}  // namespace roost::spin
