// A thread on its way through code, on a copy of its registers: for the proofs.
#pragma once

#include "spin/wait_proof.h"

namespace roost::spin {

// A bit each: the general registers, the flags, the vector registers.
using RegisterSet = std::uint64_t;
inline constexpr RegisterSet kAccumulatorBit = 1u << 0, kCounterBit = 1u << 1, kDataBit = 1u << 2,
                             kStackPointerBit = 1u << kStackPointer,
                             kFramePointerBit = 1u << kFramePointer, kFlagsBit = 1u << 16;

inline RegisterSet bit(int number) { return number >= 0 && number < 16 ? 1u << number : 0; }
inline RegisterSet vector_bit(unsigned number) { return RegisterSet{1} << (17 + number); }
inline RegisterSet bit(const Operand& operand) {
  if (operand.kind == Operand::Kind::general) return bit(operand.number);
  return operand.kind == Operand::Kind::vector ? vector_bit(operand.number) : 0;
}

// Whether it clears a register, whatever is there: xor %eax, %eax.
inline bool clears_register(const Instruction& i) {
  bool clears = i.operation == Operation::bit_xor || i.operation == Operation::subtract ||
                (i.operation == Operation::vector && (i.opcode == 0x57 || i.opcode == 0xef));
  return clears && i.width >= 4 && bit(i.destination) != 0 && bit(i.source) == bit(i.destination);
}

// One written may have been read, too.
inline RegisterSet registers_read(const Instruction& i) {
  RegisterSet read = bit(i.memory.base) | bit(i.memory.index) | bit(i.source);
  if (i.destination.kind == Operand::Kind::vector) read |= bit(i.destination);
  // A narrow write keeps the rest of the register.
  if (i.destination.kind == Operand::Kind::general && (!i.only_writes() || i.width < 4))
    read |= bit(i.destination.number);
  if (i.operation == Operation::sign_extend_accumulator ||
      i.operation == Operation::compare_exchange)
    read |= kAccumulatorBit;
  if (i.divides()) read |= kAccumulatorBit | kDataBit;
  if (i.multiplies_long()) read |= kAccumulatorBit | (i.width < 4 ? kDataBit : 0);
  if (i.uses_stack()) read |= i.operation == Operation::leave ? kFramePointerBit : kStackPointerBit;
  return read;
}

inline RegisterSet registers_written(const Instruction& i) {
  RegisterSet written = i.operation == Operation::vector_compare ? 0 : bit(i.destination);
  bool exchanges = i.operation == Operation::exchange || i.operation == Operation::exchange_add;
  if (exchanges && i.source.kind == Operand::Kind::general) written |= bit(i.source.number);
  if (i.divides()) written |= kDataBit;
  if (i.operation == Operation::compare_exchange) written |= kAccumulatorBit;
  if (i.multiplies_long() || i.looks_at_clock()) written |= kAccumulatorBit | kDataBit;
  if (i.operation == Operation::read_time_stamp_and_processor) written |= kCounterBit;
  if (i.uses_stack()) written |= kStackPointerBit;
  if (i.operation == Operation::leave) written |= kFramePointerBit;
  return written;
}

// The call before `return_address`: direct, or through the memory or register
// that holds its address. 0 if it is none. `code` holds the bytes from
// `address` on.
inline std::uint64_t call_before(const std::uint8_t* code, std::uint64_t address,
                                 std::uint64_t return_address) {
  std::uint64_t offset = return_address - address;
  if (offset >= 6 && code[offset - 6] == 0xff && code[offset - 5] == 0x15)
    return return_address - 6;
  if (offset >= 5 && code[offset - 5] == 0xe8) return return_address - 5;
  return 0;
}

// The code that a proof was given, and no other.
class WindowCode {
 public:
  explicit WindowCode(const CodeWindow& code) : code_(code) {}

  // Null if it is not on the list, or not there.
  const Instruction* at(std::uint64_t address) {
    std::uint64_t offset = address - code_.address;
    bool is_there =
        offset < code_.size && decode(code_.bytes + offset, code_.size - offset, instruction_);
    return is_there ? &instruction_ : nullptr;
  }

 private:
  const CodeWindow& code_;
  Instruction instruction_{};
};

// A thread that executes: registers, and what the last instruction did. `Code`: by address.
template <class Code>
class BasicWalker {
 public:
  // `source`: what `Code` is made of.
  template <class Source>
  BasicWalker(const Registers& start, const Source& source, Memory& memory)
      : registers(start), code_(source), memory_(memory) {}

  bool step() { return fetch() && execute_fetched(); }
  const Instruction& instruction() const { return *instruction_; }
  bool went_back() const { return effect.jumped && registers.instruction_pointer <= from_; }
  std::uint64_t from() const { return from_; }

  Registers registers;
  Effect effect{};

 protected:
  bool fetch() {
    from_ = registers.instruction_pointer;
    instruction_ = code_.at(from_);
    return instruction_ != nullptr;
  }
  bool execute_fetched() { return execute(*instruction_, memory_, registers, effect); }

  const Instruction* instruction_ = nullptr;

 private:
  Code code_;
  Memory& memory_;
  std::uint64_t from_ = 0;
};

using Walker = BasicWalker<WindowCode>;

// Brent's search for a state that comes again: where to note the next one.
class Marks {
 public:
  // Once for each state that might be it. `may`: this one may be noted.
  bool is_due(bool may = true) {
    if (++seen_ < due_at_ || !may) return false;
    due_at_ = 2 * seen_;
    return true;
  }

 private:
  unsigned seen_ = 0, due_at_ = 1;
};

}  // namespace roost::spin
