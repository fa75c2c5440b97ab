// Executes instructions of spin/instruction.h on a copy of a thread's registers, and on memory as a
// proof has it (spin/memory.h): what the thread itself would do next.
#pragma once

#include "spin/instruction.h"
#include "spin/memory.h"

namespace roost::spin {

// Numbers of general registers.
inline constexpr int kStackPointer = 4, kFramePointer = 5;

// Bytes below the stack pointer that a function may use (System V AMD64 ABI, 3.2.2).
inline constexpr unsigned kRedZone = 128;

enum Flag : std::uint32_t {
  kCarry = 1u << 0,
  kParity = 1u << 2,
  kZero = 1u << 6,
  kSign = 1u << 7,
  kOverflow = 1u << 11,
};
inline constexpr std::uint32_t kFlags = kCarry | kParity | kZero | kSign | kOverflow;

// The lower half of a vector register, 16 bytes.
struct Vector {
  std::uint64_t low, high;

  bool operator==(const Vector&) const = default;
};

struct Registers {
  std::uint64_t general[16];  // in the encoding's order: RAX RCX RDX RBX RSP RBP RSI RDI R8 ...
  std::uint64_t instruction_pointer;
  std::uint64_t thread;   // the thread pointer (FS); 0 if it is not known
  std::uint32_t flags;    // of kFlags, also where nothing may depend on them
  std::uint32_t unknown;  // those that an instruction left undefined
  bool has_vectors;       // else nothing that uses them is executed
  std::uint32_t mxcsr;    // how they round
  Vector vectors[16];

  bool operator==(const Registers&) const = default;
};

// A word that was read, or written.
struct Access {
  std::uint64_t address;
  std::uint64_t value;
  std::uint8_t width;

  bool operator==(const Access&) const = default;
};
using Load = Access;

struct Effect {
  bool jumped;  // a jump was taken, or one through a register or memory
  bool loaded, stored;
  Access load, store;
};

std::uint64_t address_of(const MemoryOperand& memory, const Registers& registers,
                         std::uint64_t next_instruction);

// False if the instruction would write what may not be written, reads what cannot be read, or
// depends on an undefined flag; `registers` are then of no use.
bool execute(const Instruction& instruction, Memory& memory, Registers& registers, Effect& effect);

}  // namespace roost::spin
