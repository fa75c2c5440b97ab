// x86-64 machine code: the length of any instruction, and the meaning of the few that wait loops
// are made of.
//
// `parse` knows the layout of all 64-bit encodings (legacy, VEX, EVEX), so that code can be walked;
// `decode` gives a meaning to an allow-list of integer instructions and refuses everything else. A
// wrong refusal costs a wait that is not recognised; nothing is ever guessed. Pure functions of the
// bytes; checked against Zydis over installed libraries (tools/spin_corpus.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace roost::spin {

inline constexpr int kNoRegister = -1;
inline constexpr int kInstructionPointer = 16;
inline constexpr unsigned kMaxInstructionBytes = 15;

// base + index * scale + displacement; the instruction pointer as base counts from the next
// instruction; FS counts from the thread pointer.
struct MemoryOperand {
  std::int8_t base = kNoRegister;
  std::int8_t index = kNoRegister;
  std::uint8_t scale = 1;
  bool in_thread = false;  // FS
  std::int32_t displacement = 0;
};

// The layout of an instruction.
struct Form {
  unsigned length = 0;
  unsigned map = 0;  // 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A; vector encodings keep their number
  std::uint8_t opcode = 0;
  std::uint8_t rex = 0;
  std::uint8_t modrm = 0;
  bool has_modrm = false;
  bool vector = false;        // VEX, EVEX
  bool operand_size = false;  // prefixes, from here on
  bool address_size = false;
  bool other_segment = false;  // GS; FS is in `memory`
  bool lock = false;
  std::uint8_t repeat = 0;  // F2 or F3
  MemoryOperand memory;     // if has_modrm and the operand is memory
  unsigned displacement_bytes = 0;
  unsigned immediate_bytes = 0;
  std::int64_t immediate = 0;  // sign-extended

  bool memory_form() const { return has_modrm && modrm >> 6 != 3; }
  unsigned field() const { return (modrm >> 3 & 7) | (rex & 4) << 1; }
  unsigned rm() const { return (modrm & 7) | (rex & 1) << 3; }
};

// Whether it never goes on to the instruction behind it.
bool ends_flow(const Form& form);
// A jump or call by so many bytes (its immediate) from the next instruction.
bool direct_jump(const Form& form);

// False if the bytes are no instruction, or cut off.
bool parse(const std::uint8_t* bytes, std::size_t size, Form& form);

enum class Operation : std::uint8_t {
  nothing,  // nop, pause, fences, prefetches
  move,
  move_zero_extended,
  move_sign_extended,
  load_address,
  add,
  subtract,
  bit_and,
  bit_or,
  bit_xor,
  compare,
  test,
  increment,
  decrement,
  negate,
  bit_not,
  shift_left,
  shift_right,
  shift_right_signed,
  sign_extend_accumulator,  // cltq and its like
  sign_extend_into_data,    // cltd, cqto: RDX is all ones if RAX is negative, else 0
  multiply,
  multiply_by_immediate,  // the source; the destination is only written
  conditional_move,
  set_on_condition,
  exchange,
  compare_exchange,
  jump,
  jump_on_condition,
  divide,  // RAX by the source; the remainder to RDX
  divide_signed,
  // What spin/wait_proof.h knows only, from here on.
  add_with_carry,
  subtract_with_borrow,
  exchange_add,   // the source gets the destination's old value
  multiply_long,  // RAX by the source, to RDX and RAX
  multiply_long_signed,
  count_bits,
  lowest_bit,  // its number, of a source that is not 0
  highest_bit,
  test_bit,
  set_bit,
  reset_bit,
  complement_bit,
  read_time_stamp,
  read_time_stamp_and_processor,
  pause_until,  // tpause, umwait; umonitor, which says for what
  vector,       // by its opcode and prefix (spin/vector.h)
  vector_compare,
  system_call,  // is not executed
  push,
  pop,
  leave,
  call,  // the source's address, or by so many bytes
  jump_indirect,
  return_from_call,  // and drops so many bytes more
};

struct Operand {
  enum class Kind : std::uint8_t { none, general, memory, immediate, vector } kind = Kind::none;
  std::uint8_t number = 0;  // of a register
};

struct Instruction {
  Operation operation = Operation::nothing;
  std::uint8_t length = 0;
  std::uint8_t width = 0;         // bytes of the operation
  std::uint8_t source_width = 0;  // of the extending moves
  std::uint8_t condition = 0;     // as encoded: 4 is equal, 5 not equal ...
  bool locked = false;            // a read-modify-write that other cores see as one
  bool pauses = false;            // the hint that this is a wait loop
  bool sets_zero = false;         // a lowest bit that is the first
  std::uint8_t opcode = 0, prefix = 0, vector_bytes = 0;  // of a vector instruction
  Operand destination, source;
  MemoryOperand memory;
  std::int64_t immediate = 0;
  std::int64_t target = 0;  // of a jump, from the next instruction

  bool jumps() const {
    return operation == Operation::jump || operation == Operation::jump_on_condition;
  }
  // The destination's old value does not matter, unless what is written is narrower.
  bool only_writes() const {
    return operation == Operation::move || operation == Operation::move_zero_extended ||
           operation == Operation::move_sign_extended || operation == Operation::load_address ||
           operation == Operation::set_on_condition || operation == Operation::pop ||
           operation == Operation::multiply_by_immediate;
  }
  bool divides() const {
    return operation == Operation::divide || operation == Operation::divide_signed;
  }
  bool is_for_wait_proof() const { return operation > Operation::divide_signed; }
  bool tests_bit() const {
    return operation >= Operation::test_bit && operation <= Operation::complement_bit;
  }
  bool uses_stack() const {
    return operation >= Operation::push && operation != Operation::jump_indirect;
  }
  bool multiplies_long() const {
    return operation == Operation::multiply_long || operation == Operation::multiply_long_signed;
  }
  bool looks_at_clock() const {
    return operation == Operation::read_time_stamp ||
           operation == Operation::read_time_stamp_and_processor;
  }
  bool shifts() const {
    return operation >= Operation::shift_left && operation <= Operation::shift_right_signed;
  }
  bool sets_flags() const {
    return (operation >= Operation::add && operation <= Operation::shift_right_signed) ||
           operation == Operation::multiply || operation == Operation::multiply_by_immediate ||
           operation == Operation::compare_exchange || divides() ||
           (operation >= Operation::add_with_carry && operation <= Operation::complement_bit) ||
           operation == Operation::vector_compare || operation == Operation::pause_until;
  }
  // It leaves some of them, or may do so.
  bool keeps_flags() const {
    return operation == Operation::increment || operation == Operation::decrement ||
           operation == Operation::bit_not || tests_bit() ||
           (shifts() && source.kind == Operand::Kind::general);
  }
  bool reads_flags() const {
    return operation == Operation::jump_on_condition || operation == Operation::set_on_condition ||
           operation == Operation::conditional_move || operation == Operation::add_with_carry ||
           operation == Operation::subtract_with_borrow;
  }
  bool is_vector() const {
    return operation == Operation::vector || operation == Operation::vector_compare;
  }
  // Bytes in memory of its operand there.
  unsigned bytes_in_memory() const {
    return is_vector() ? vector_bytes : source_width ? source_width : width;
  }
  bool stores() const {
    return destination.kind == Operand::Kind::memory && operation != Operation::compare &&
           operation != Operation::test && operation != Operation::test_bit;
  }
};

// False for everything that is not on the list.
bool decode(const std::uint8_t* bytes, std::size_t size, Instruction& instruction);

}  // namespace roost::spin
