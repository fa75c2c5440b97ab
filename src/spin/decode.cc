// The meaning of the integer instructions that wait loops are made of.
#include "spin/instruction.h"
#include "spin/vector.h"

namespace roost::spin {
namespace {

using Kind = Operand::Kind;

std::uint8_t full_width(const Form& form) { return form.rex & 8 ? 8 : form.operand_size ? 2 : 4; }

// One of AH, CH, DH, BH: they share a number with SPL ... DIL, which need a REX prefix.
bool high_byte(const Form& form, std::uint8_t width, unsigned number) {
  return width == 1 && form.rex == 0 && number >= 4 && number < 8;
}

bool general(const Form& form, std::uint8_t width, unsigned number, Operand& operand) {
  if (high_byte(form, width, number)) return false;
  operand = {Kind::general, static_cast<std::uint8_t>(number)};
  return true;
}

bool register_or_memory(const Form& form, std::uint8_t width, Operand& operand) {
  if (!form.memory_form()) return general(form, width, form.rm(), operand);
  operand = {Kind::memory, 0};
  return true;
}

bool field(const Form& form, std::uint8_t width, Operand& operand) {
  return general(form, width, form.field(), operand);
}

constexpr Operand kImmediate{Kind::immediate, 0};
constexpr Operand kAccumulator{Kind::general, 0};
constexpr Operand kCounter{Kind::general, 1};
constexpr Operand kData{Kind::general, 2};

// The eight arithmetic operations that share an encoding.
Operation arithmetic(unsigned number) {
  constexpr Operation kOperations[8] = {Operation::add,
                                        Operation::bit_or,
                                        Operation::add_with_carry,
                                        Operation::subtract_with_borrow,
                                        Operation::bit_and,
                                        Operation::subtract,
                                        Operation::bit_xor,
                                        Operation::compare};
  return kOperations[number];
}

bool decode_arithmetic(const Form& form, Instruction& i) {
  i.operation = arithmetic(form.opcode >> 3);
  i.width = form.opcode & 1 ? full_width(form) : 1;
  switch (form.opcode & 7) {
    case 0:
    case 1:
      return register_or_memory(form, i.width, i.destination) && field(form, i.width, i.source);
    case 2:
    case 3:
      return field(form, i.width, i.destination) && register_or_memory(form, i.width, i.source);
    default:
      i.destination = kAccumulator;
      i.source = kImmediate;
      return true;
  }
}

bool decode_shift(const Form& form, Instruction& i) {
  i.width = form.opcode & 1 ? full_width(form) : 1;
  i.source = form.opcode < 0xd2 ? kImmediate : kCounter;
  if (form.opcode >= 0xd0) i.immediate = 1;
  switch (form.modrm >> 3 & 7) {
    case 4:
      i.operation = Operation::shift_left;
      break;
    case 5:
      i.operation = Operation::shift_right;
      break;
    case 7:
      i.operation = Operation::shift_right_signed;
      break;
    default:
      return false;
  }
  return register_or_memory(form, i.width, i.destination);
}

// Of eight bytes, whatever REX.W says.
bool decode_on_stack(const Form& form, Operation operation, Instruction& i) {
  i.operation = operation;
  i.width = 8;
  return !form.operand_size || form.rex & 8;  // as calls of __tls_get_addr are padded
}

// Opcode FF: pushes, and calls and jumps through a register or memory.
bool decode_indirect(const Form& form, unsigned number, Instruction& i) {
  constexpr Operation kOperations[8] = {
      Operation::nothing,       Operation::nothing, Operation::call, Operation::nothing,
      Operation::jump_indirect, Operation::nothing, Operation::push, Operation::nothing};
  return decode_on_stack(form, kOperations[number], i) && i.operation != Operation::nothing &&
         register_or_memory(form, 8, i.source);
}

// Opcodes F6, F7, FE and FF: one operand, the operation is in the operand byte.
bool decode_unary(const Form& form, Instruction& i) {
  i.width = form.opcode & 1 ? full_width(form) : 1;
  unsigned number = form.modrm >> 3 & 7;
  if (form.opcode >= 0xfe) {
    if (number > 1) return form.opcode == 0xff && decode_indirect(form, number, i);
    i.operation = number == 0 ? Operation::increment : Operation::decrement;
  } else if (number == 0) {
    i.operation = Operation::test;
    i.source = kImmediate;
  } else if (number == 2 || number == 3) {
    i.operation = number == 2 ? Operation::bit_not : Operation::negate;
  } else if (number >= 4 && i.width > 1) {
    constexpr Operation kOperations[4] = {Operation::multiply_long, Operation::multiply_long_signed,
                                          Operation::divide, Operation::divide_signed};
    i.operation = kOperations[number - 4];
    i.destination = kAccumulator;
    return register_or_memory(form, i.width, i.source);
  } else {
    return false;
  }
  return register_or_memory(form, i.width, i.destination);
}

bool decode_jump(const Form& form, Operation operation, Instruction& i) {
  i.operation = operation;
  i.condition = form.opcode & 15;
  i.target = form.immediate;
  return !form.operand_size;  // processors disagree on 16-bit jumps
}

bool decode_one_byte(const Form& form, Instruction& i) {
  std::uint8_t opcode = form.opcode;
  if (opcode < 0x40) return decode_arithmetic(form, i);
  if (opcode >= 0x70 && opcode <= 0x7f) return decode_jump(form, Operation::jump_on_condition, i);
  if (opcode >= 0xb0 && opcode <= 0xbf) {
    i.operation = Operation::move;
    i.width = opcode < 0xb8 ? 1 : full_width(form);
    i.source = kImmediate;
    return general(form, i.width, (opcode & 7) | (form.rex & 1) << 3, i.destination);
  }
  if (opcode >= 0x50 && opcode <= 0x5f) {
    Operand& operand = opcode < 0x58 ? i.source : i.destination;
    operand = {Kind::general, static_cast<std::uint8_t>((opcode & 7) | (form.rex & 1) << 3)};
    return decode_on_stack(form, opcode < 0x58 ? Operation::push : Operation::pop, i);
  }
  std::uint8_t width = opcode & 1 ? full_width(form) : 1;
  switch (opcode) {
    case 0x68:
    case 0x6a:
      i.source = kImmediate;
      return decode_on_stack(form, Operation::push, i);
    case 0xc2:
    case 0xc3:
      i.immediate &= 0xffff;
      return decode_on_stack(form, Operation::return_from_call, i);
    case 0xc9:
      return decode_on_stack(form, Operation::leave, i);
    case 0xe8:
      i.target = form.immediate;
      return decode_on_stack(form, Operation::call, i);
    case 0x63:
      i.operation = Operation::move_sign_extended;
      i.width = full_width(form);
      i.source_width = 4;
      return field(form, 8, i.destination) && register_or_memory(form, 4, i.source);
    case 0x69:
    case 0x6b:
      i.operation = Operation::multiply_by_immediate;
      i.width = full_width(form);
      return field(form, 8, i.destination) && register_or_memory(form, i.width, i.source);
    case 0x80:
    case 0x81:
    case 0x83:
      i.width = width;
      i.source = kImmediate;
      i.operation = arithmetic(form.modrm >> 3 & 7);
      return register_or_memory(form, width, i.destination);
    case 0x84:
    case 0x85:
    case 0x86:
    case 0x87:
      i.operation = opcode < 0x86 ? Operation::test : Operation::exchange;
      i.width = width;
      i.locked = opcode >= 0x86 && form.memory_form();
      return register_or_memory(form, width, i.destination) && field(form, width, i.source);
    case 0x88:
    case 0x89:
      i.operation = Operation::move;
      i.width = width;
      return register_or_memory(form, width, i.destination) && field(form, width, i.source);
    case 0x8a:
    case 0x8b:
      i.operation = Operation::move;
      i.width = width;
      return field(form, width, i.destination) && register_or_memory(form, width, i.source);
    case 0x8d:
      i.operation = Operation::load_address;
      i.width = full_width(form);
      i.source = {Kind::memory, 0};
      return form.memory_form() && field(form, 8, i.destination);
    case 0x90:
      i.pauses = form.repeat == 0xf3;
      return (form.rex & 1) == 0;  // else an exchange with R8
    case 0x98:
      i.operation = Operation::sign_extend_accumulator;
      i.width = full_width(form);
      i.destination = i.source = kAccumulator;
      return true;
    case 0x99:
      i.operation = Operation::sign_extend_into_data;
      i.width = full_width(form);
      i.destination = kData;
      i.source = kAccumulator;
      return true;
    case 0xa8:
    case 0xa9:
      i.operation = Operation::test;
      i.width = width;
      i.destination = kAccumulator;
      i.source = kImmediate;
      return true;
    case 0xc0:
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
      return decode_shift(form, i);
    case 0xc6:
    case 0xc7:
      i.operation = Operation::move;
      i.width = width;
      i.source = kImmediate;
      return (form.modrm >> 3 & 7) == 0 && register_or_memory(form, width, i.destination);
    case 0xe9:
    case 0xeb:
      return decode_jump(form, Operation::jump, i);
    case 0xf6:
    case 0xf7:
    case 0xfe:
    case 0xff:
      return decode_unary(form, i);
    default:
      return false;
  }
}

// POPCNT, BSF, BSR; TZCNT is as BSF where the source is not 0. LZCNT depends on the processor.
bool decode_bit_count(const Form& form, Instruction& i) {
  if (form.repeat != (form.opcode == 0xb8 ? 0xf3 : 0) &&
      !(form.opcode == 0xbc && form.repeat == 0xf3))
    return false;
  i.operation = form.opcode == 0xb8   ? Operation::count_bits
                : form.opcode == 0xbc ? Operation::lowest_bit
                                      : Operation::highest_bit;
  i.sets_zero = form.repeat != 0;
  i.width = full_width(form);
  return field(form, 8, i.destination) && register_or_memory(form, i.width, i.source);
}

// BT, BTS, BTR, BTC of a bit of the operand itself: by a register, in memory, it may lie elsewhere.
bool decode_bit_test(const Form& form, Instruction& i) {
  bool immediate = form.opcode == 0xba;
  unsigned number = immediate ? form.modrm >> 3 & 7 : form.opcode >> 3 & 7;
  if (number < 4 || (!immediate && form.memory_form())) return false;
  i.operation = static_cast<Operation>(static_cast<unsigned>(Operation::test_bit) + number - 4);
  i.source = kImmediate;
  return register_or_memory(form, i.width, i.destination) &&
         (immediate || field(form, i.width, i.source));
}

// Fences, and the pauses of processors with WAITPKG: umonitor, umwait, tpause.
bool decode_fence(const Form& form, Instruction& i) {
  unsigned number = form.modrm >> 3 & 7;
  if (form.memory_form() || number < 5) return false;
  if (!form.repeat && !form.operand_size) return true;
  if (number != 6) return false;
  i.operation = Operation::pause_until;
  i.pauses = form.repeat != 0xf3;
  return true;
}

bool decode_two_byte(const Form& form, Instruction& i) {
  std::uint8_t opcode = form.opcode;
  if (opcode >= 0x80 && opcode <= 0x8f) return decode_jump(form, Operation::jump_on_condition, i);
  if (opcode == 0x1e) return form.repeat == 0xf3 && form.modrm == 0xfa;  // endbr64
  if (opcode == 0xb8 || opcode == 0xbc || opcode == 0xbd) return decode_bit_count(form, i);
  if (opcode == 0xae) return decode_fence(form, i);
  if (form.repeat) return false;
  i.condition = opcode & 15;
  i.width = full_width(form);
  if (opcode >= 0x40 && opcode <= 0x4f) {
    i.operation = Operation::conditional_move;
    return field(form, 8, i.destination) && register_or_memory(form, 8, i.source);
  }
  if (opcode >= 0x90 && opcode <= 0x9f) {
    i.operation = Operation::set_on_condition;
    i.width = 1;
    return register_or_memory(form, 1, i.destination);
  }
  switch (opcode) {
    case 0x05:
      i.operation = Operation::system_call;
      return true;
    case 0x01:
      i.operation = Operation::read_time_stamp_and_processor;
      return form.modrm == 0xf9;
    case 0x31:
      i.operation = Operation::read_time_stamp;
      return true;
    case 0xa3:
    case 0xab:
    case 0xb3:
    case 0xba:
    case 0xbb:
      return decode_bit_test(form, i);
    case 0xc0:
    case 0xc1:
      i.operation = Operation::exchange_add;
      i.width = opcode & 1 ? full_width(form) : 1;
      return register_or_memory(form, i.width, i.destination) && field(form, i.width, i.source);
    case 0x0d:
    case 0x18:  // prefetches
      return form.memory_form();
    case 0x1f:  // a long nop
      return true;
    case 0xaf:
      i.operation = Operation::multiply;
      return field(form, 8, i.destination) && register_or_memory(form, i.width, i.source);
    case 0xb0:
    case 0xb1:
      i.operation = Operation::compare_exchange;
      i.width = opcode & 1 ? full_width(form) : 1;
      i.locked = form.lock;
      return register_or_memory(form, i.width, i.destination) && field(form, i.width, i.source);
    case 0xb6:
    case 0xb7:
    case 0xbe:
    case 0xbf:
      i.operation = opcode < 0xb8 ? Operation::move_zero_extended : Operation::move_sign_extended;
      i.source_width = opcode & 1 ? 2 : 1;
      return field(form, 8, i.destination) && register_or_memory(form, i.source_width, i.source);
    default:
      return false;
  }
}

// Whether a repeat prefix is `pause`, or one that branches may have: BND, or one for old branch
// predictors.
bool means_nothing(const Form& form) {
  switch (form.opcode) {
    case 0x90:
      return true;
    case 0xc2:
    case 0xc3:
      return true;
    case 0xe8:
    case 0xe9:
      return form.repeat == 0xf2;
    case 0xff:
      return form.repeat == 0xf2 && (form.modrm >> 3 & 7) >= 2;
    default:
      return form.opcode >= 0x70 && form.opcode <= 0x7f && form.repeat == 0xf2;
  }
}

// Read-modify-write of memory; the prefix is a fault elsewhere.
bool may_be_locked(const Instruction& i) {
  switch (i.operation) {
    case Operation::add:
    case Operation::subtract:
    case Operation::bit_and:
    case Operation::bit_or:
    case Operation::bit_xor:
    case Operation::increment:
    case Operation::decrement:
    case Operation::negate:
    case Operation::bit_not:
    case Operation::exchange:
    case Operation::compare_exchange:
    case Operation::add_with_carry:
    case Operation::subtract_with_borrow:
    case Operation::exchange_add:
    case Operation::set_bit:
    case Operation::reset_bit:
    case Operation::complement_bit:
      return i.destination.kind == Kind::memory;
    default:
      return false;
  }
}

}  // namespace

bool decode(const std::uint8_t* bytes, std::size_t size, Instruction& instruction) {
  Form form;
  if (!parse(bytes, size, form)) return false;
  if (form.vector || form.map > 1 || form.other_segment) return false;
  // Linkers pad calls and jumps with it that had gone through the global offset table.
  bool is_padding = form.map == 0 && (form.opcode == 0xe8 || form.opcode == 0xe9);
  if (form.address_size && !is_padding) return false;
  Instruction i;
  i.length = static_cast<std::uint8_t>(form.length);
  i.memory = form.memory;
  i.immediate = form.immediate;
  i.locked = form.lock;
  if (form.map == 1 && !form.lock && decode_vector(form, i)) {
    instruction = i;
    return true;
  }
  if (form.map == 0 && form.repeat && !means_nothing(form)) return false;
  if (!(form.map == 0 ? decode_one_byte(form, i) : decode_two_byte(form, i))) return false;
  if (form.lock && !may_be_locked(i)) return false;
  instruction = i;
  return true;
}

}  // namespace roost::spin
