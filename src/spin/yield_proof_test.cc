// The loops around sched_yield that compilers make, and loops that only look like them.
#include "spin/yield_proof.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace roost::spin {
namespace {

using Code = std::vector<std::uint8_t>;

std::uint64_t words[8];

bool read_words(std::uint64_t address, unsigned width, std::uint64_t& value) {
  std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(words);
  if (offset + width > sizeof words) return false;
  value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), width);
  return true;
}

// `call sched_yield`, then `rest`; the thread has just returned.
struct Yielded : testing::Test {
  Registers registers{};
  YieldProof proof{};

  Yielded() {
    for (unsigned i = 0; i < 8; ++i) words[i] = i;
    for (std::uint64_t& general : registers.general) general = 0xdead;
    registers.general[0] = 0;
  }
  bool waits(const Code& rest) { return waits_from({0xe8, 1, 2, 3, 4}, rest); }
  bool waits_from(Code call, const Code& rest) {
    constexpr std::uint64_t kAddress = 0x400000;
    registers.instruction_pointer = kAddress + call.size();
    call.insert(call.end(), rest.begin(), rest.end());
    proof = prove_yield(registers, call.data(), call.size(), kAddress, read_words);
    return proof.waits;
  }
  void point(unsigned general, unsigned index) {
    registers.general[general] = reinterpret_cast<std::uint64_t>(&words[index]);
  }
};

constexpr unsigned kRbx = 3, kRdi = 7, kR12 = 12, kR15 = 15;

// mov (%r15,%r12,8),%rax; test %rax,%rax; jne to the call
const Code kUntilZero = {0x4b, 0x8b, 0x04, 0xe7, 0x48, 0x85, 0xc0, 0x75, 0xf2};

TEST_F(Yielded, a_word_that_keeps_the_loop_going_is_named) {
  point(kR15, 1);
  registers.general[kR12] = 2;
  ASSERT_TRUE(waits(kUntilZero));
  EXPECT_EQ(proof.loads.count(), 1u);
  EXPECT_EQ(proof.loads[0], (Load{reinterpret_cast<std::uint64_t>(&words[3]), 3, 8}));
}

TEST_F(Yielded, a_word_that_lets_the_loop_end_is_no_wait) {
  point(kR15, 0);
  registers.general[kR12] = 0;
  EXPECT_FALSE(waits(kUntilZero));
}

TEST_F(Yielded, a_loop_that_ends_elsewhere_is_left) {
  point(kR15, 0);
  registers.general[kR12] = 0;
  EXPECT_FALSE(waits(kUntilZero));
  EXPECT_TRUE(proof.leaves);
  registers.general[kR12] = 2;
  EXPECT_TRUE(waits(kUntilZero));
  EXPECT_FALSE(proof.leaves);
  // call something: what it does cannot be told
  EXPECT_FALSE(waits({0xe8, 0, 0, 0, 0}));
  EXPECT_FALSE(proof.leaves);
}

TEST_F(Yielded, a_compare_with_memory_and_an_immediate_is_understood) {
  point(kRbx, 5);
  // cmpl $5,(%rbx); je to the call
  ASSERT_TRUE(waits({0x83, 0x3b, 0x05, 0x74, 0xf6}));
  EXPECT_EQ(proof.loads.count(), 1u);
  EXPECT_EQ(proof.loads[0], (Load{reinterpret_cast<std::uint64_t>(&words[5]), 5, 4}));
}

TEST_F(Yielded, a_call_through_memory_is_a_call) {
  point(kRbx, 5);
  EXPECT_TRUE(waits_from({0xff, 0x15, 0, 0, 0, 0}, {0x83, 0x3b, 0x05, 0x74, 0xf5}));
}

TEST_F(Yielded, registers_a_call_may_change_prove_nothing) {
  point(kRdi, 5);
  // cmpl $5,(%rdi); je to the call
  EXPECT_FALSE(waits({0x83, 0x3f, 0x05, 0x74, 0xf6}));
}

TEST_F(Yielded, the_result_of_the_call_is_known) {
  point(kRbx, 0);
  // cmp (%rbx),%rax; je to the call
  EXPECT_TRUE(waits({0x48, 0x3b, 0x03, 0x74, 0xf6}));
}

TEST_F(Yielded, a_counted_loop_is_no_wait) {
  point(kR12, 1);
  // dec %ebx; cmpl $1,(%r12); je to the call
  EXPECT_FALSE(waits({0xff, 0xcb, 0x41, 0x83, 0x3c, 0x24, 0x01, 0x74, 0xf2}));
}

TEST_F(Yielded, a_loop_that_writes_is_no_wait) {
  point(kRbx, 5);
  // incl 4(%rbx); cmpl $5,(%rbx); je to the call
  EXPECT_FALSE(waits({0xff, 0x43, 0x04, 0x83, 0x3b, 0x05, 0x74, 0xf3}));
}

TEST_F(Yielded, a_wait_that_ends_with_time_too_says_so) {
  point(kRbx, 5);
  // rdtsc; cmpl $5,(%rbx); je to the call
  EXPECT_TRUE(waits({0x0f, 0x31, 0x83, 0x3b, 0x05, 0x74, 0xf4}));
  EXPECT_TRUE(proof.looks_at_clock);
}

TEST_F(Yielded, time_that_is_over_ends_the_wait) {
  point(kRbx, 5);
  // rdtsc; cmp $0,%rax; je to the call
  EXPECT_FALSE(waits({0x0f, 0x31, 0x48, 0x83, 0xf8, 0x00, 0x74, 0xf3}));
}

TEST_F(Yielded, every_word_is_named) {
  point(kRbx, 5);
  point(kR12, 1);
  // cmpl $5,(%rbx); jne on; cmpl $1,(%r12); je to the call
  ASSERT_TRUE(waits({0x83, 0x3b, 0x05, 0x75, 0x07, 0x41, 0x83, 0x3c, 0x24, 0x01, 0x74, 0xef}));
  ASSERT_EQ(proof.loads.count(), 2u);
  EXPECT_EQ(proof.loads[0], (Load{reinterpret_cast<std::uint64_t>(&words[5]), 5, 4}));
  EXPECT_EQ(proof.loads[1], (Load{reinterpret_cast<std::uint64_t>(&words[1]), 1, 4}));
}

TEST_F(Yielded, flags_of_the_call_prove_nothing) {
  // je to the call
  EXPECT_FALSE(waits({0x74, 0xf9}));
}

TEST_F(Yielded, an_endless_loop_of_yields_waits_for_no_word) {
  // jmp to the call
  EXPECT_FALSE(waits({0xeb, 0xf9}));
}

}  // namespace
}  // namespace roost::spin
