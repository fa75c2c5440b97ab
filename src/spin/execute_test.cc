// What execute() makes of registers and flags is what the processor makes of them, for random
// instructions of the allow-list; and only such instructions are decoded.
#include "spin/execute.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#if defined(__x86_64__)

namespace roost::spin {
namespace {

// Registers but RSP and R15, which the harness needs.
struct Machine {
  std::uint64_t general[16];
  std::uint64_t flags;
  Vector vectors[16];
};

// Code that loads or stores all vector registers: movups between them and (R15).
unsigned move_vectors(std::uint8_t* to, bool store) {
  unsigned size = 0;
  for (unsigned r = 0; r < 16; ++r) {
    auto offset = static_cast<std::uint32_t>(offsetof(Machine, vectors) + 16 * r);
    const std::uint8_t code[] = {static_cast<std::uint8_t>(r < 8 ? 0x41 : 0x45), 0x0f,
                                 static_cast<std::uint8_t>(store ? 0x11 : 0x10),
                                 static_cast<std::uint8_t>(0x87 | (r & 7) << 3)};
    std::memcpy(to + size, code, sizeof code);
    std::memcpy(to + size + sizeof code, &offset, sizeof offset);
    size += sizeof code + sizeof offset;
  }
  return size;
}

// Runs code that ends in `ret` with the registers of *machine, and stores what they are then.
extern "C" void run_on_machine(Machine* machine, const void* code);
asm(R"(
.pushsection .text
run_on_machine:
  push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15
  mov %rdi, %r15
  push %rsi
  pushq 128(%r15)
  popfq
  mov 0(%r15), %rax; mov 8(%r15), %rcx; mov 16(%r15), %rdx; mov 24(%r15), %rbx
  mov 40(%r15), %rbp; mov 48(%r15), %rsi; mov 56(%r15), %rdi; mov 64(%r15), %r8
  mov 72(%r15), %r9; mov 80(%r15), %r10; mov 88(%r15), %r11; mov 96(%r15), %r12
  mov 104(%r15), %r13; mov 112(%r15), %r14
  call *(%rsp)
  pushfq
  popq 128(%r15)
  mov %rax, 0(%r15); mov %rcx, 8(%r15); mov %rdx, 16(%r15); mov %rbx, 24(%r15)
  mov %rbp, 40(%r15); mov %rsi, 48(%r15); mov %rdi, 56(%r15); mov %r8, 64(%r15)
  mov %r9, 72(%r15); mov %r10, 80(%r15); mov %r11, 88(%r15); mov %r12, 96(%r15)
  mov %r13, 104(%r15); mov %r14, 112(%r15)
  add $8, %rsp
  cld
  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx
  ret
.popsection
)");

alignas(16) std::uint64_t memory[64];

bool read_in_place(std::uint64_t address, unsigned width, std::uint64_t& value) {
  value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), width);
  return true;
}

UnchangedMemory unchanged(read_in_place);

// A copy of `memory` that is written to in its place.
class Copied final : public Memory {
 public:
  Copied() { std::memcpy(words_, memory, sizeof words_); }
  bool read(std::uint64_t address, unsigned width, std::uint64_t& value) override {
    return read_in_place(at(address), width, value);
  }
  bool write(std::uint64_t address, unsigned width, std::uint64_t value,
             const std::uint64_t* was) override {
    std::uint64_t now;
    if (was && (!read(address, width, now) || now != *was)) return false;
    std::memcpy(reinterpret_cast<void*>(at(address)), &value, width);
    return true;
  }
  bool is_as(const std::uint64_t (&other)[64]) const {
    return std::memcmp(words_, other, sizeof words_) == 0;
  }

 private:
  std::uint64_t at(std::uint64_t address) const {
    return address - reinterpret_cast<std::uint64_t>(memory) +
           reinterpret_cast<std::uint64_t>(words_);
  }
  std::uint64_t words_[64];
};

bool uses(const Operand& operand, unsigned number) {
  return operand.kind == Operand::Kind::general && operand.number == number;
}

bool harness_can_run(const Instruction& i) {
  if (i.jumps() || i.divides() || i.uses_stack()) return false;  // a division may trap
  if (i.operation == Operation::jump_indirect || i.memory.in_thread) return false;
  if (i.looks_at_clock() || i.operation == Operation::system_call) return false;
  if (i.operation == Operation::pause_until) return false;  // not every processor has it
  bool aligned = i.is_vector() && i.vector_bytes == 16;
  if (aligned && i.memory.displacement % 16 != 0) return false;
  for (unsigned reserved : {4u, 15u}) {
    if (uses(i.destination, reserved) || uses(i.source, reserved)) return false;
  }
  const MemoryOperand& memory_operand = i.memory;
  if (i.operation == Operation::load_address) {
    return memory_operand.base != 4 && memory_operand.base != 15 &&
           memory_operand.base != kInstructionPointer && memory_operand.index != 15;
  }
  bool has_memory =
      i.destination.kind == Operand::Kind::memory || i.source.kind == Operand::Kind::memory;
  // By RSI alone, which points into `memory`.
  return !has_memory || (memory_operand.base == 6 && memory_operand.index == kNoRegister &&
                         memory_operand.displacement >= -64 && memory_operand.displacement <= 64);
}

TEST(ExecuteTest, Does_what_the_processor_does) {
  auto* page = static_cast<std::uint8_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(page, MAP_FAILED);
  std::mt19937_64 random(4711);
  const std::uint8_t prefixes[] = {0x66, 0x48, 0x41, 0x45, 0x49, 0x4d, 0x40, 0xf0, 0xf2, 0xf3};
  unsigned tried = 0, seen[64] = {};
  for (unsigned attempt = 0; attempt < 2'000'000 && tried < 90'000; ++attempt) {
    std::uint8_t bytes[16];
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    unsigned at = 0;
    if (random() % 2) bytes[at++] = prefixes[random() % std::size(prefixes)];
    if (random() % 3 == 0) bytes[at++] = 0x0f;
    std::uint64_t small = random() % 4;  // often a memory operand near RSI
    if (small == 0) bytes[at + 1] = static_cast<std::uint8_t>(0x46 | (random() & 0x38));
    Instruction i;
    if (!decode(bytes, sizeof bytes, i) || !harness_can_run(i)) continue;

    Machine machine{};
    Registers registers{};
    for (int r = 0; r < 16; ++r) {
      std::uint64_t value = random();
      if (random() % 4 == 0) value %= 3;
      if (random() % 8 == 0) value = ~0ull - value % 3;
      machine.general[r] = value;
    }
    for (std::uint64_t& word : memory) word = random() % 3 ? random() : machine.general[0];
    registers.has_vectors = true;
    for (Vector& vector : registers.vectors) {
      double number = static_cast<double>(random() % 1000) / 7 - 50;
      float numbers[2] = {static_cast<float>(number), -3.5F};
      vector = {random() % 4 ? random() : machine.general[0], random()};
      if (random() % 2) std::memcpy(&vector.low, &number, sizeof number);
      if (random() % 3 == 0) std::memcpy(&vector.low, numbers, sizeof numbers);
    }
    std::memcpy(machine.vectors, registers.vectors, sizeof machine.vectors);
    machine.general[6] = reinterpret_cast<std::uint64_t>(memory + 32);
    machine.flags = (random() & kFlags) | 2;
    std::memcpy(registers.general, machine.general, sizeof registers.general);
    registers.flags = static_cast<std::uint32_t>(machine.flags) & kFlags;
    Copied copied;
    Effect effect;
    bool executed = execute(i, copied, registers, effect);
    unsigned size = move_vectors(page, false);
    std::memcpy(page + size, bytes, i.length);
    size += i.length;
    size += move_vectors(page + size, true);
    page[size] = 0xc3;
    run_on_machine(&machine, page);
    if (!executed) {
      // Processors disagree on the lowest and the highest bit of 0.
      bool looks_for_bit =
          i.operation == Operation::lowest_bit || i.operation == Operation::highest_bit;
      EXPECT_TRUE(looks_for_bit) << "refused without need: opcode " << std::hex
                                 << unsigned{i.opcode} << ", prefix " << unsigned{i.prefix}
                                 << ", operation " << std::dec
                                 << static_cast<unsigned>(i.operation);
      continue;
    }
    ++tried;
    ++seen[static_cast<unsigned>(i.operation)];
    ASSERT_TRUE(copied.is_as(memory)) << "operation " << static_cast<unsigned>(i.operation);
    for (int r = 0; r < 15; ++r) {
      if (r == 4) continue;
      ASSERT_EQ(registers.general[r], machine.general[r])
          << "register " << r << ", operation " << static_cast<unsigned>(i.operation) << ", width "
          << unsigned{i.width};
    }
    for (int r = 0; r < 16; ++r) {
      ASSERT_EQ(registers.vectors[r], machine.vectors[r])
          << "vector register " << r << ", opcode " << std::hex << unsigned{i.opcode} << ", prefix "
          << unsigned{i.prefix};
    }
    ASSERT_EQ(registers.flags & ~registers.unknown, machine.flags & kFlags & ~registers.unknown)
        << "operation " << static_cast<unsigned>(i.operation) << ", width " << unsigned{i.width};
  }
  EXPECT_GT(tried, 20'000u);
  for (unsigned o = 0; o < static_cast<unsigned>(Operation::jump); ++o)
    EXPECT_GT(seen[o], 0u) << "operation " << o << " was never tried";
  munmap(page, 4096);
}

// Quotients and remainders of all signs and widths, and divisions that would trap.
TEST(ExecuteTest, Divides) {
  struct {
    std::vector<std::uint8_t> code;  // of a division by RCX
    unsigned width;
    bool is_signed;
  } forms[] = {{{0x48, 0xf7, 0xf9}, 8, true}, {{0x48, 0xf7, 0xf1}, 8, false},
               {{0xf7, 0xf9}, 4, true},       {{0xf7, 0xf1}, 4, false},
               {{0x66, 0xf7, 0xf9}, 2, true}, {{0x66, 0xf7, 0xf1}, 2, false}};
  const std::int64_t values[] = {0, 1, 2, 7, 100, 32767, -1, -2, -7, -100, -32768};
  for (auto& form : forms) {
    std::uint64_t mask = form.width == 8 ? ~0ull : (1ull << (8 * form.width)) - 1;
    for (std::int64_t a : values) {
      for (std::int64_t b : values) {
        Instruction i;
        Effect effect;
        ASSERT_TRUE(decode(form.code.data(), form.code.size(), i));
        auto lower = [&](std::int64_t value) { return static_cast<std::uint64_t>(value) & mask; };
        Registers registers{};
        registers.general[0] = lower(a);
        registers.general[1] = lower(b);
        registers.general[2] = form.is_signed && a < 0 ? mask : 0;
        bool executed = execute(i, unchanged, registers, effect);
        ASSERT_EQ(executed, b != 0 && !(form.is_signed && b == -1)) << a << " / " << b;
        if (!executed) continue;
        std::uint64_t quotient = form.is_signed ? lower(a / b) : lower(a) / lower(b);
        std::uint64_t remainder = form.is_signed ? lower(a % b) : lower(a) % lower(b);
        EXPECT_EQ(registers.general[0], quotient) << a << " / " << b;
        EXPECT_EQ(registers.general[2], remainder) << a << " % " << b;
      }
    }
  }
}

TEST(ExecuteTest, Does_not_divide_what_may_overflow) {
  const std::uint8_t code[] = {0xf7, 0xf1};
  Instruction i;
  Effect effect;
  Registers registers{};
  registers.general[1] = registers.general[2] = 1;
  ASSERT_TRUE(decode(code, sizeof code, i));
  EXPECT_FALSE(execute(i, unchanged, registers, effect));
}

// Whether a jump with each condition is taken, against the processor's setcc.
TEST(ExecuteTest, Conditions_hold_when_the_processor_says_so) {
  for (unsigned condition = 0; condition < 16; ++condition) {
    for (std::uint32_t combination = 0; combination < 32; ++combination) {
      std::uint32_t flags = 0;
      const Flag all[] = {kCarry, kParity, kZero, kSign, kOverflow};
      for (int f = 0; f < 5; ++f) {
        if (combination >> f & 1) flags |= all[f];
      }
      const std::uint8_t set[] = {0x0f, static_cast<std::uint8_t>(0x90 | condition), 0xc0};
      const std::uint8_t jump[] = {static_cast<std::uint8_t>(0x70 | condition), 0x10};
      Instruction i;
      Effect effect;
      Registers by_set{}, by_jump{};
      by_set.flags = by_jump.flags = flags;
      ASSERT_TRUE(decode(set, sizeof set, i));
      ASSERT_TRUE(execute(i, unchanged, by_set, effect));
      ASSERT_TRUE(decode(jump, sizeof jump, i));
      ASSERT_TRUE(execute(i, unchanged, by_jump, effect));
      EXPECT_EQ(by_set.general[0] == 1, effect.jumped);
      EXPECT_EQ(by_jump.instruction_pointer, effect.jumped ? 0x12u : 2u);
    }
  }
}

}  // namespace
}  // namespace roost::spin

#endif
