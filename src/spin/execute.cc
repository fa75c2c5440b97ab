// Registers, flags and reads of the instructions that wait loops are made of.
#include "spin/execute.h"

#include "spin/vector.h"

namespace roost::spin {
namespace {

using Kind = Operand::Kind;

std::uint64_t top_bit(unsigned width) { return 1ull << (8 * width - 1); }

std::uint64_t sign_extended(std::uint64_t value, unsigned from) {
  return ((value & low_bytes(from)) ^ top_bit(from)) - top_bit(from);
}

// One instruction under way.
class Step {
 public:
  Step(const Instruction& i, Memory& memory, Registers& registers, Effect& effect)
      : i_(i), memory_(memory), r_(registers), effect_(effect) {}

  bool run();

 private:
  bool read(std::uint64_t address, unsigned width, std::uint64_t& value);
  bool write(std::uint64_t address, unsigned width, std::uint64_t value);
  bool operand(const Operand& operand, unsigned width, std::uint64_t& value);
  bool store(const Operand& operand, unsigned width, std::uint64_t value);
  bool binary(std::uint64_t a, std::uint64_t b);
  bool unary(std::uint64_t a);
  bool shift(std::uint64_t a, unsigned count);
  bool add_with_carry(std::uint64_t a, std::uint64_t b);
  bool subtract_with_borrow(std::uint64_t a, std::uint64_t b);
  bool exchange_add(std::uint64_t a, std::uint64_t b);
  std::uint64_t multiply_signed(std::uint64_t a, std::uint64_t b);
  void set_product_flags(bool overflows);
  bool multiply_long(std::uint64_t b);
  bool count_bits(std::uint64_t a);
  bool bit_operation(std::uint64_t a, unsigned bit);
  bool push(std::uint64_t value);
  bool pop(std::uint64_t& value);
  bool stack_operation();
  bool time_stamp();
  bool load_vector(std::uint64_t address, Vector& value);
  bool store_vector(std::uint64_t address, const Vector& value);
  bool vector();
  bool compare_exchange(std::uint64_t old);
  bool divide(std::uint64_t divisor);
  bool divide_signed(std::uint64_t divisor);
  bool condition(bool& holds) const;
  void set_result_flags(std::uint64_t result, std::uint32_t others);
  void set_sum_flags(std::uint64_t a, std::uint64_t b, std::uint64_t result);
  void set_difference_flags(std::uint64_t a, std::uint64_t b);

  const Instruction& i_;
  Memory& memory_;
  Registers& r_;
  Effect& effect_;
};

bool Step::read(std::uint64_t address, unsigned width, std::uint64_t& value) {
  if (!memory_.read(address, width, value)) return false;
  value &= low_bytes(width);
  effect_.loaded = true;
  effect_.load = {address, value, static_cast<std::uint8_t>(width)};
  return true;
}

bool Step::write(std::uint64_t address, unsigned width, std::uint64_t value) {
  value &= low_bytes(width);
  effect_.stored = true;
  effect_.store = {address, value, static_cast<std::uint8_t>(width)};
  return memory_.write(address, width, value, i_.locked ? &effect_.load.value : nullptr);
}

bool Step::operand(const Operand& operand, unsigned width, std::uint64_t& value) {
  switch (operand.kind) {
    case Kind::general:
      value = r_.general[operand.number] & low_bytes(width);
      return true;
    case Kind::immediate:
      value = static_cast<std::uint64_t>(i_.immediate) & low_bytes(width);
      return true;
    case Kind::memory:
      return (!i_.memory.in_thread || r_.thread != 0) &&
             read(address_of(i_.memory, r_, r_.instruction_pointer), width, value);
    default:
      return false;
  }
}

bool Step::store(const Operand& operand, unsigned width, std::uint64_t value) {
  if (operand.kind == Kind::memory) {
    return (!i_.memory.in_thread || r_.thread != 0) &&
           write(address_of(i_.memory, r_, r_.instruction_pointer), width, value);
  }
  std::uint64_t& target = r_.general[operand.number];
  if (width >= 4) {
    target = value & low_bytes(width);  // 32-bit results clear the upper half
  } else {
    target = (target & ~low_bytes(width)) | (value & low_bytes(width));
  }
  return true;
}

void Step::set_result_flags(std::uint64_t result, std::uint32_t others) {
  result &= low_bytes(i_.width);
  r_.flags = others;
  r_.unknown = 0;
  if (result == 0) r_.flags |= kZero;
  if (result & top_bit(i_.width)) r_.flags |= kSign;
  if (__builtin_popcountll(result & 0xff) % 2 == 0) r_.flags |= kParity;
}

void Step::set_sum_flags(std::uint64_t a, std::uint64_t b, std::uint64_t result) {
  std::uint32_t others = 0;
  if ((result & low_bytes(i_.width)) < a) others |= kCarry;
  if (~(a ^ b) & (a ^ result) & top_bit(i_.width)) others |= kOverflow;
  set_result_flags(result, others);
}

void Step::set_difference_flags(std::uint64_t a, std::uint64_t b) {
  std::uint32_t others = 0;
  if (a < b) others |= kCarry;
  if ((a ^ b) & (a ^ (a - b)) & top_bit(i_.width)) others |= kOverflow;
  set_result_flags(a - b, others);
}

bool Step::condition(bool& holds) const {
  bool overflow = r_.flags & kOverflow, carry = r_.flags & kCarry, zero = r_.flags & kZero;
  bool sign = r_.flags & kSign, parity = r_.flags & kParity;
  bool less = sign != overflow;
  // As encoded, without the lowest bit, which turns it round.
  const struct {
    bool holds;
    std::uint32_t reads;
  } conditions[8] = {
      {overflow, kOverflow},
      {carry, kCarry},
      {zero, kZero},
      {carry || zero, kCarry | kZero},
      {sign, kSign},
      {parity, kParity},
      {less, kSign | kOverflow},
      {less || zero, kSign | kOverflow | kZero},
  };
  const auto& row = conditions[i_.condition >> 1];
  holds = row.holds != (i_.condition & 1);
  return (row.reads & r_.unknown) == 0;
}

bool Step::binary(std::uint64_t a, std::uint64_t b) {
  switch (i_.operation) {
    case Operation::add_with_carry:
      return add_with_carry(a, b);
    case Operation::subtract_with_borrow:
      return subtract_with_borrow(a, b);
    case Operation::exchange_add:
      return exchange_add(a, b);
    case Operation::add:
      set_sum_flags(a, b, a + b);
      return store(i_.destination, i_.width, a + b);
    case Operation::subtract:
      set_difference_flags(a, b);
      return store(i_.destination, i_.width, a - b);
    case Operation::compare:
      set_difference_flags(a, b);
      return true;
    case Operation::test:
      set_result_flags(a & b, 0);
      return true;
    case Operation::bit_and:
      set_result_flags(a & b, 0);
      return store(i_.destination, i_.width, a & b);
    case Operation::bit_or:
      set_result_flags(a | b, 0);
      return store(i_.destination, i_.width, a | b);
    case Operation::bit_xor:
      set_result_flags(a ^ b, 0);
      return store(i_.destination, i_.width, a ^ b);
    case Operation::multiply:
      multiply_signed(a, b);
      return store(i_.destination, i_.width, a * b);
    case Operation::exchange:
      // The destination first: its address may count from the register.
      return store(i_.destination, i_.width, b) && store(i_.source, i_.width, a);
    default:
      return false;
  }
}

bool Step::unary(std::uint64_t a) {
  std::uint32_t carry = r_.flags & kCarry, carry_unknown = r_.unknown & kCarry;
  switch (i_.operation) {
    case Operation::increment:
      set_sum_flags(a, 1, a + 1);
      break;
    case Operation::decrement:
      set_difference_flags(a, 1);
      break;
    case Operation::negate:
      set_difference_flags(0, a);
      return store(i_.destination, i_.width, 0 - a);
    default:
      return store(i_.destination, i_.width, ~a);
  }
  // These two leave the carry as it was.
  r_.flags = (r_.flags & ~static_cast<std::uint32_t>(kCarry)) | carry;
  r_.unknown |= carry_unknown;
  return store(i_.destination, i_.width, i_.operation == Operation::increment ? a + 1 : a - 1);
}

bool Step::shift(std::uint64_t a, unsigned count) {
  count &= i_.width == 8 ? 63 : 31;
  if (count == 0) return store(i_.destination, i_.width, a);
  std::uint64_t result;
  if (i_.operation == Operation::shift_left) {
    result = a << count;
  } else if (i_.operation == Operation::shift_right) {
    result = a >> count;
  } else {
    result =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(sign_extended(a, i_.width)) >> count);
  }
  set_result_flags(result, 0);
  r_.unknown = count == 1 ? 0 : std::uint32_t{kOverflow};
  unsigned bits = 8u * i_.width;
  bool left = i_.operation == Operation::shift_left;
  bool arithmetic = i_.operation == Operation::shift_right_signed;
  if (count > bits && !arithmetic) {
    r_.unknown |= kCarry;
  } else {
    unsigned last = left ? bits - count : count > bits ? bits - 1 : count - 1;
    if (a >> last & 1) r_.flags |= kCarry;
  }
  bool top = a & top_bit(i_.width), next = a << 1 & top_bit(i_.width);
  if (left ? top != next : top && !arithmetic) r_.flags |= kOverflow;
  return store(i_.destination, i_.width, result);
}

bool Step::add_with_carry(std::uint64_t a, std::uint64_t b) {
  if (r_.unknown & kCarry) return false;
  std::uint64_t carry = r_.flags & kCarry ? 1 : 0, result = (a + b + carry) & low_bytes(i_.width);
  std::uint32_t others = 0;
  if (result < a || (carry && result == a)) others |= kCarry;
  if (~(a ^ b) & (a ^ result) & top_bit(i_.width)) others |= kOverflow;
  set_result_flags(result, others);
  return store(i_.destination, i_.width, result);
}

bool Step::subtract_with_borrow(std::uint64_t a, std::uint64_t b) {
  if (r_.unknown & kCarry) return false;
  std::uint64_t borrow = r_.flags & kCarry ? 1 : 0, result = (a - b - borrow) & low_bytes(i_.width);
  std::uint32_t others = 0;
  if (a < b || (borrow && a == b)) others |= kCarry;
  if ((a ^ b) & (a ^ result) & top_bit(i_.width)) others |= kOverflow;
  set_result_flags(result, others);
  return store(i_.destination, i_.width, result);
}

bool Step::exchange_add(std::uint64_t a, std::uint64_t b) {
  set_sum_flags(a, b, a + b);
  // If both are one register, it gets the sum; the address in memory may count from the source.
  if (i_.destination.kind == Kind::memory)
    return store(i_.destination, i_.width, a + b) && store(i_.source, i_.width, a);
  return store(i_.source, i_.width, a) && store(i_.destination, i_.width, a + b);
}

// The upper half of a product.
std::uint64_t Step::multiply_signed(std::uint64_t a, std::uint64_t b) {
  auto product = static_cast<__int128>(static_cast<std::int64_t>(sign_extended(a, i_.width))) *
                 static_cast<std::int64_t>(sign_extended(b, i_.width));
  auto low = static_cast<std::uint64_t>(product);
  bool fits = static_cast<std::int64_t>(sign_extended(low, i_.width)) == product;
  set_product_flags(!fits);
  return static_cast<std::uint64_t>(product >> (8 * i_.width));
}

void Step::set_product_flags(bool overflows) {
  r_.flags = overflows ? std::uint32_t{kCarry | kOverflow} : 0;
  r_.unknown = kFlags & ~(kCarry | kOverflow);
}

bool Step::multiply_long(std::uint64_t b) {
  std::uint64_t a = r_.general[0] & low_bytes(i_.width), high;
  if (i_.operation == Operation::multiply_long) {
    high = static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b >> (8 * i_.width));
    set_product_flags(high != 0);
  } else {
    high = multiply_signed(a, b);
  }
  return store({Kind::general, 0}, i_.width, a * b) && store({Kind::general, 2}, i_.width, high);
}

bool Step::count_bits(std::uint64_t a) {
  if (i_.operation == Operation::count_bits) {
    r_.flags = a == 0 ? std::uint32_t{kZero} : 0;
    r_.unknown = 0;
    return store(i_.destination, i_.width, static_cast<std::uint64_t>(__builtin_popcountll(a)));
  }
  if (a == 0) return false;
  int number = i_.operation == Operation::lowest_bit ? __builtin_ctzll(a) : 63 - __builtin_clzll(a);
  r_.flags = i_.sets_zero && number == 0 ? std::uint32_t{kZero} : 0;
  r_.unknown = kFlags;  // processors without TZCNT take it for BSF
  return store(i_.destination, i_.width, static_cast<std::uint64_t>(number));
}

bool Step::bit_operation(std::uint64_t a, unsigned number) {
  std::uint64_t bit = 1ull << (number & (8u * i_.width - 1));
  r_.flags = (r_.flags & kZero) | (a & bit ? std::uint32_t{kCarry} : 0);
  r_.unknown = (r_.unknown & kZero) | (kFlags & ~(kCarry | kZero));
  switch (i_.operation) {
    case Operation::set_bit:
      return store(i_.destination, i_.width, a | bit);
    case Operation::reset_bit:
      return store(i_.destination, i_.width, a & ~bit);
    case Operation::complement_bit:
      return store(i_.destination, i_.width, a ^ bit);
    default:
      return true;
  }
}

bool Step::push(std::uint64_t value) {
  r_.general[kStackPointer] -= 8;
  return write(r_.general[kStackPointer], 8, value);
}

bool Step::pop(std::uint64_t& value) {
  if (!read(r_.general[kStackPointer], 8, value)) return false;
  r_.general[kStackPointer] += 8;
  return true;
}

bool Step::load_vector(std::uint64_t address, Vector& value) {
  value = {};
  if (i_.vector_bytes < 16) return read(address, i_.vector_bytes, value.low);
  if (!read(address + 8, 8, value.high) || !read(address, 8, value.low)) return false;
  effect_.load.width = 16;
  return true;
}

bool Step::store_vector(std::uint64_t address, const Vector& value) {
  if (i_.vector_bytes < 16) return write(address, i_.vector_bytes, value.low);
  if (!write(address + 8, 8, value.high) || !write(address, 8, value.low)) return false;
  effect_.store.width = 16;
  return true;
}

bool Step::vector() {
  VectorOperands operands{};
  std::uint64_t address = address_of(i_.memory, r_, r_.instruction_pointer);
  if (i_.memory.in_thread && r_.thread == 0) return false;
  operands.from_register = i_.source.kind == Kind::vector;
  if (i_.source.kind == Kind::vector) {
    operands.source = r_.vectors[i_.source.number];
  } else if (i_.source.kind == Kind::general) {
    operands.source.low = r_.general[i_.source.number];
  } else if (!load_vector(address, operands.source)) {
    return false;
  }
  if (i_.source.kind != Kind::vector && i_.vector_bytes == 4) operands.source.low &= low_bytes(4);
  bool to_vector = i_.destination.kind == Kind::vector;
  if (to_vector) operands.destination = r_.vectors[i_.destination.number];
  Vector result;
  std::uint32_t flags = 0;
  if (!execute_vector(i_, operands, result, flags)) return false;
  if (i_.operation == Operation::vector_compare) {
    r_.flags = flags;
    r_.unknown = 0;
    return true;
  }
  if (to_vector) {
    r_.vectors[i_.destination.number] = result;
    return true;
  }
  if (i_.destination.kind == Kind::memory) return store_vector(address, result);
  return store(i_.destination, i_.width, result.low);
}

bool Step::time_stamp() {
  TimeStamp stamp;
  if (!memory_.time_stamp(stamp)) return false;
  r_.general[0] = stamp.ticks & 0xffffffff;
  r_.general[2] = stamp.ticks >> 32;
  if (i_.operation == Operation::read_time_stamp_and_processor) r_.general[1] = stamp.processor;
  return true;
}

bool Step::stack_operation() {
  std::uint64_t value = 0;
  switch (i_.operation) {
    case Operation::push:
      return operand(i_.source, 8, value) && push(value);
    case Operation::pop:
      return pop(value) && store(i_.destination, 8, value);
    case Operation::leave:
      r_.general[kStackPointer] = r_.general[kFramePointer];
      return pop(r_.general[kFramePointer]);
    case Operation::call:
      value = r_.instruction_pointer + static_cast<std::uint64_t>(i_.target);
      if (i_.source.kind != Kind::none && !operand(i_.source, 8, value)) return false;
      if (!push(r_.instruction_pointer)) return false;
      r_.instruction_pointer = value;
      return true;
    default:
      if (!pop(r_.instruction_pointer)) return false;
      r_.general[kStackPointer] += static_cast<std::uint64_t>(i_.immediate);
      return true;
  }
}

bool Step::compare_exchange(std::uint64_t old) {
  std::uint64_t expected = r_.general[0] & low_bytes(i_.width);
  set_difference_flags(expected, old);
  std::uint64_t replacement;
  if (!operand(i_.source, i_.width, replacement)) return false;
  if (expected == old) return store(i_.destination, i_.width, replacement);
  return store({Kind::general, 0}, i_.width, old);
}

// Of a dividend as long as the divisor: what compilers divide. More may be an overflow.
bool Step::divide(std::uint64_t divisor) {
  std::uint64_t a = r_.general[0] & low_bytes(i_.width),
                upper = r_.general[2] & low_bytes(i_.width);
  if (divisor == 0 || upper != 0) return false;
  r_.unknown = kFlags;
  return store({Kind::general, 0}, i_.width, a / divisor) &&
         store({Kind::general, 2}, i_.width, a % divisor);
}

bool Step::divide_signed(std::uint64_t divisor) {
  auto a = static_cast<std::int64_t>(sign_extended(r_.general[0], i_.width));
  auto b = static_cast<std::int64_t>(sign_extended(divisor, i_.width));
  std::uint64_t upper = a < 0 ? low_bytes(i_.width) : 0;
  if (b == 0 || b == -1 || (r_.general[2] & low_bytes(i_.width)) != upper) return false;
  r_.unknown = kFlags;
  return store({Kind::general, 0}, i_.width, static_cast<std::uint64_t>(a / b)) &&
         store({Kind::general, 2}, i_.width, static_cast<std::uint64_t>(a % b));
}

bool Step::run() {
  bool holds = true;
  std::uint64_t a = 0, b = 0;
  switch (i_.operation) {
    case Operation::nothing:
      return true;
    case Operation::jump_on_condition:
      if (!condition(holds)) return false;
      [[fallthrough]];
    case Operation::jump:
      effect_.jumped = holds;
      if (holds) r_.instruction_pointer += static_cast<std::uint64_t>(i_.target);
      return true;
    case Operation::jump_indirect:
      effect_.jumped = true;
      return operand(i_.source, 8, r_.instruction_pointer);
    case Operation::pause_until:
      r_.unknown = kFlags;  // carry: whether that was for as long as it may be
      return true;
    case Operation::read_time_stamp:
    case Operation::read_time_stamp_and_processor:
      return time_stamp();
    case Operation::load_address:
      return store(i_.destination, i_.width, address_of(i_.memory, r_, r_.instruction_pointer));
    case Operation::move:
      return operand(i_.source, i_.width, b) && store(i_.destination, i_.width, b);
    case Operation::move_zero_extended:
      return operand(i_.source, i_.source_width, b) && store(i_.destination, i_.width, b);
    case Operation::move_sign_extended:
      return operand(i_.source, i_.source_width, b) &&
             store(i_.destination, i_.width, sign_extended(b, i_.source_width));
    case Operation::sign_extend_accumulator:
      return store(i_.destination, i_.width, sign_extended(r_.general[0], i_.width / 2u));
    case Operation::sign_extend_into_data:
      return store(i_.destination, i_.width,
                   r_.general[0] & top_bit(i_.width) ? ~std::uint64_t{0} : 0);
    case Operation::multiply_by_immediate:
      if (!operand(i_.source, i_.width, b)) return false;
      multiply_signed(b, static_cast<std::uint64_t>(i_.immediate));
      return store(i_.destination, i_.width, b * static_cast<std::uint64_t>(i_.immediate));
    case Operation::divide:
      return operand(i_.source, i_.width, b) && divide(b);
    case Operation::divide_signed:
      return operand(i_.source, i_.width, b) && divide_signed(b);
    case Operation::multiply_long:
    case Operation::multiply_long_signed:
      return operand(i_.source, i_.width, b) && multiply_long(b);
    case Operation::count_bits:
    case Operation::lowest_bit:
    case Operation::highest_bit:
      return operand(i_.source, i_.width, b) && count_bits(b);
    case Operation::system_call:
      return false;
    case Operation::vector:
    case Operation::vector_compare:
      return r_.has_vectors && vector();
    case Operation::push:
    case Operation::pop:
    case Operation::leave:
    case Operation::call:
    case Operation::return_from_call:
      return stack_operation();
    case Operation::set_on_condition:
      return condition(holds) && store(i_.destination, 1, holds);
    case Operation::conditional_move:
      // The source is read, and a 32-bit destination cut, whatever the condition.
      if (!condition(holds) || !operand(i_.source, i_.width, b) ||
          !operand(i_.destination, i_.width, a)) {
        return false;
      }
      return store(i_.destination, i_.width, holds ? b : a);
    default:
      break;
  }
  if (!operand(i_.destination, i_.width, a)) return false;
  if (i_.operation == Operation::compare_exchange) return compare_exchange(a);
  if (i_.source.kind == Kind::none) return unary(a);
  if (!operand(i_.source, i_.width, b)) return false;
  if (i_.operation >= Operation::shift_left && i_.operation <= Operation::shift_right_signed)
    return shift(a, static_cast<unsigned>(b));
  if (i_.tests_bit()) return bit_operation(a, static_cast<unsigned>(b));
  return binary(a, b);
}

}  // namespace

std::uint64_t address_of(const MemoryOperand& memory, const Registers& registers,
                         std::uint64_t next_instruction) {
  std::uint64_t address = static_cast<std::uint64_t>(std::int64_t{memory.displacement});
  if (memory.base == kInstructionPointer) {
    address += next_instruction;
  } else if (memory.base != kNoRegister) {
    address += registers.general[memory.base];
  }
  if (memory.index != kNoRegister) address += registers.general[memory.index] * memory.scale;
  if (memory.in_thread) address += registers.thread;
  return address;
}

bool execute(const Instruction& instruction, Memory& memory, Registers& registers, Effect& effect) {
  effect = {};
  registers.instruction_pointer += instruction.length;
  return Step(instruction, memory, registers, effect).run();
}

}  // namespace roost::spin
