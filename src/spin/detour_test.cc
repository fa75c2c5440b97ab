// Ways from a backward branch to a stub: through padding that nothing reaches, or none.
#include "spin/detour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace roost::spin {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint64_t kBase = 0x10000, kStub = 0x900000;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Bytes no_ops(std::size_t count) { return Bytes(count, 0x90); }

// mov (%rcx),%rax; cmp %rax,%rdx; je to the start; ret: 9 bytes.
const Bytes kWait = {0x48, 0x8b, 0x01, 0x48, 0x39, 0xc2, 0x74, 0xf8, 0xc3};
constexpr std::uint64_t kBranch = kBase + 6;

bool plan(const Bytes& code, std::uint64_t branch, Detour& detour, std::uint64_t stub = kStub) {
  return plan_detour(code.data(), code.size(), kBase, branch, stub, detour);
}

// As it is written, of one byte or four.
std::int64_t displacement(const Detour& detour) {
  std::int32_t four;
  std::memcpy(&four, detour.change, sizeof four);
  return detour.change_size == 1 ? static_cast<std::int8_t>(detour.change[0]) : four;
}

// Follows jumps from `at` through the code with the detour written into it.
std::uint64_t destination(Bytes code, const Detour& detour, std::uint64_t behind) {
  for (unsigned i = 0; i < detour.n_hops; ++i)
    std::memcpy(&code[detour.hops[i].address - kBase], detour.hops[i].bytes, detour.hops[i].size);
  std::uint64_t at = behind + static_cast<std::uint64_t>(displacement(detour));
  while (at - kBase < code.size()) {
    const std::uint8_t* instruction = &code[at - kBase];
    if (*instruction == 0xeb) {
      at += 2 + static_cast<std::int64_t>(static_cast<std::int8_t>(instruction[1]));
    } else if (*instruction == 0xe9) {
      std::int32_t distance;
      std::memcpy(&distance, instruction + 1, 4);
      at += 5 + static_cast<std::int64_t>(distance);
    } else {
      ADD_FAILURE() << "no jump at " << at - kBase;
      return 0;
    }
  }
  return at;
}

TEST(DetourTest, Goes_through_the_padding_behind_the_function) {
  Bytes code = kWait + no_ops(7) + no_ops(0) + Bytes{0xc3};
  Detour detour;
  ASSERT_TRUE(plan(code, kBranch, detour));
  EXPECT_EQ(detour.change_address, kBase + 7);
  EXPECT_EQ(detour.change_size, 1);
  ASSERT_EQ(detour.n_hops, 1u);
  EXPECT_EQ(detour.hops[0].address, kBase + 9);
  EXPECT_EQ(detour.hops[0].size, 7) << "all of the padding, so that it still decodes";
  EXPECT_EQ(destination(code, detour, kBase + 8), kStub);
}

TEST(DetourTest, Hops_over_padding_too_short_for_a_long_jump) {
  // Three bytes of padding, code, and at 136, out of the branch's reach, enough padding.
  Bytes code = kWait + no_ops(3);
  while (code.size() < 134) code = code + Bytes{0x01, 0xc0};
  code = code + Bytes{0x90};
  code = code + Bytes{0xc3} + no_ops(7) + Bytes{0xc3};
  Detour detour;
  ASSERT_TRUE(plan(code, kBranch, detour));
  EXPECT_EQ(detour.n_hops, 2u);
  EXPECT_EQ(detour.hops[0].bytes[0], 0xe9) << "written first: it leads to the stub";
  EXPECT_EQ(destination(code, detour, kBase + 8), kStub);
}

TEST(DetourTest, Leaves_padding_alone_that_is_not_behind_an_end) {
  // The no-ops are fallen into.
  Bytes code = kWait + Bytes{0x01, 0xc0} + no_ops(5) + Bytes{0xc3};
  code[8] = 0x90;
  Detour detour;
  EXPECT_FALSE(plan(code, kBranch, detour));
}

TEST(DetourTest, Leaves_padding_alone_that_a_jump_leads_to) {
  Bytes code = Bytes{0x74, 0x09} + kWait + no_ops(5) + Bytes{0xc3};
  code[1] = 9;  // to the first no-op
  Detour detour;
  EXPECT_FALSE(plan(code, kBranch + 2, detour));
  code[1] = 14;  // behind them
  EXPECT_TRUE(plan(code, kBranch + 2, detour));
}

TEST(DetourTest, Does_not_take_what_lies_behind_the_alignment) {
  // No-ops at a function's entry (for hot patches) are its code.
  Bytes code = Bytes{0x48, 0x89, 0xc0, 0x48, 0x89, 0xc0, 0x90} + kWait + no_ops(16) + Bytes{0xc3};
  ASSERT_EQ(code.size(), 33u);
  Detour detour;
  EXPECT_FALSE(plan(code, kBranch + 7, detour));
}

TEST(DetourTest, Refuses_code_it_cannot_read_to_the_end) {
  Bytes code = kWait + no_ops(7) + Bytes{0x06} + no_ops(40);
  Detour detour;
  EXPECT_FALSE(plan(code, kBranch, detour));
}

TEST(DetourTest, A_long_branch_goes_to_the_stub_itself) {
  Bytes code = {0x48, 0x8b, 0x01, 0x48, 0x39, 0xc2, 0x0f, 0x84, 0xf4, 0xff, 0xff, 0xff, 0xc3};
  Detour detour;
  ASSERT_TRUE(plan(code, kBranch, detour));
  EXPECT_EQ(detour.change_size, 4);
  EXPECT_EQ(detour.n_hops, 0u);
  EXPECT_EQ(detour.change_address + 4 + static_cast<std::uint64_t>(displacement(detour)), kStub);
  EXPECT_FALSE(plan(code, kBranch, detour, kBase + (1ull << 33))) << "out of reach";
  // The displacement across two aligned words cannot be stored at once.
  EXPECT_FALSE(plan(no_ops(7) + code, kBranch + 7, detour));
}

// mov 0x1000(%rip),%eax; cmp %r15d,%eax; je to the start; and a return.
const Bytes kFarWait = {0x8b, 0x05, 0x00, 0x10, 0x00, 0x00, 0x44, 0x39, 0xf8, 0x74, 0xf5, 0xc3};

bool plan_at(const Bytes& code, std::uint64_t head, Detour& detour, std::uint64_t stub = kStub) {
  return plan_jump(code.data(), code.size(), kBase, head, stub, detour);
}

TEST(DetourTest, A_long_first_instruction_becomes_a_jump) {
  Detour detour;
  ASSERT_TRUE(plan_at(kFarWait, kBase, detour));
  EXPECT_EQ(detour.n_hops, 0u);
  EXPECT_EQ(detour.change_address, kBase);
  ASSERT_EQ(detour.change_size, 6) << "all of the instruction, so that the code still decodes";
  EXPECT_EQ(detour.change[0], 0xe9);
  std::int32_t distance;
  std::memcpy(&distance, detour.change + 1, sizeof distance);
  EXPECT_EQ(kBase + 5 + static_cast<std::uint64_t>(std::int64_t{distance}), kStub);
  EXPECT_NE(detour.change[5], 0x90) << "no padding for others";
  EXPECT_TRUE(plan_at(no_ops(2) + kFarWait, kBase + 2, detour)) << "in one aligned word still";
}

TEST(DetourTest, No_jump_takes_the_place_of_what_cannot_be_stored_at_once_or_moved) {
  Detour detour;
  EXPECT_FALSE(plan_at(no_ops(3) + kFarWait, kBase + 3, detour)) << "across two aligned words";
  EXPECT_FALSE(plan_at(kFarWait, kBase + 6, detour)) << "too short";
  EXPECT_FALSE(plan_at(kFarWait, kBase + 2, detour)) << "no instruction begins there";
  EXPECT_FALSE(plan_at(kFarWait, kBase, detour, kBase + (1ull << 33))) << "out of reach";
  // Five bytes, and no-ops behind: those would be taken for padding behind a jump.
  EXPECT_FALSE(plan_at(Bytes{0x48, 0x8b, 0x4c, 0x24, 0x08, 0x90, 0x90, 0xc3}, kBase, detour));
  // je, call and jmp by 32 bits.
  EXPECT_FALSE(plan_at(Bytes{0x0f, 0x84, 0, 0, 0, 0, 0xc3}, kBase, detour));
  EXPECT_FALSE(plan_at(Bytes{0xe8, 0, 0, 0, 0, 0xc3}, kBase, detour));
  // Somebody jumps between its bytes: 10 back from behind, to the second.
  EXPECT_FALSE(plan_at(kFarWait + Bytes{0xeb, 0xf3, 0xc3}, kBase, detour));
}

// pause; cmp %rax,%rdx; je to the start; ret: 8 bytes.
const Bytes kPauses = {0xf3, 0x90, 0x48, 0x39, 0xc2, 0x74, 0xf9, 0xc3};

bool plan_at_pause(const Bytes& code, std::uint64_t pause, Detour& detour) {
  return plan_pause(code.data(), code.size(), kBase, pause, kStub, detour);
}

TEST(DetourTest, A_pause_becomes_a_short_jump_to_padding) {
  Bytes code = kPauses + no_ops(8) + Bytes{0xc3};
  Detour detour;
  ASSERT_TRUE(plan_at_pause(code, kBase, detour));
  EXPECT_EQ(detour.change_address, kBase);
  ASSERT_EQ(detour.change_size, 2);
  EXPECT_EQ(detour.change[0], 0xeb);
  ASSERT_EQ(detour.n_hops, 1u);
  EXPECT_EQ(kBase + 2 + detour.change[1], detour.hops[0].address);
  Detour displaced = detour;
  displaced.change[0] = detour.change[1];
  displaced.change_size = 1;
  EXPECT_EQ(destination(code, displaced, kBase + 2), kStub);
}

TEST(DetourTest, A_pause_for_a_time_becomes_one) {
  // tpause %ecx; cmp %rax,%rdx; je to the start; ret.
  const Bytes pauses = {0x66, 0x0f, 0xae, 0xf1, 0x48, 0x39, 0xc2, 0x74, 0xf7, 0xc3};
  Bytes code = pauses + no_ops(8) + Bytes{0xc3} + no_ops(8) + Bytes{0xc3};
  Detour detour;
  ASSERT_TRUE(plan_at_pause(code, kBase, detour));
  ASSERT_EQ(detour.change_size, 4);
  EXPECT_EQ(detour.change[0], 0xeb);
  ASSERT_EQ(detour.n_hops, 1u);
  EXPECT_EQ(detour.hops[0].address, kBase + pauses.size());
  EXPECT_EQ(kBase + 2 + detour.change[1], detour.hops[0].address);
  // What is left of it is no padding for another detour of the function.
  std::copy_n(detour.change, detour.change_size, code.begin());
  ASSERT_TRUE(plan(code, kBase + 7, detour));
  EXPECT_EQ(detour.hops[0].address, kBase + pauses.size() + 9);
  // A jump leads to its third byte.
  EXPECT_FALSE(plan_at_pause(
      Bytes{0x66, 0x0f, 0xae, 0xf1, 0x48, 0x39, 0xc2, 0x74, 0xf9, 0xc3} + no_ops(8) + Bytes{0xc3},
      kBase, detour));
}

// The last bytes of a `tpause` may be the beginning of another instruction, too (of %esi and %edi:
// that of a long one).
TEST(DetourTest, Behind_a_changed_pause_for_a_time_jumps_are_seen) {
  for (std::uint8_t last = 0xf0; last != 0xf8; ++last) {
    // tpause; jmp to the no-ops before the pause; ret; padding.
    Bytes code = Bytes{0x66, 0x0f, 0xae, last, 0xeb, 0x0b, 0xc3} + no_ops(9) + Bytes{0xc3};
    const std::uint64_t executed = kBase + code.size();
    code = code + no_ops(15) + kPauses;
    const std::uint64_t second = executed + 15;
    Detour detour;
    ASSERT_TRUE(plan_at_pause(code, kBase, detour)) << unsigned{last};
    std::copy_n(detour.change, detour.change_size, code.begin());
    for (unsigned i = 0; i < detour.n_hops; ++i)
      std::copy_n(detour.hops[i].bytes, detour.hops[i].size,
                  code.begin() + static_cast<std::ptrdiff_t>(detour.hops[i].address - kBase));
    if (!plan_at_pause(code, second, detour)) continue;
    for (unsigned i = 0; i < detour.n_hops; ++i) {
      EXPECT_FALSE(detour.hops[i].address >= executed && detour.hops[i].address < second)
          << unsigned{last};
    }
  }
}

TEST(DetourTest, No_jump_takes_the_place_of_a_pause_that) {
  Detour detour;
  EXPECT_FALSE(plan_at_pause(kPauses + Bytes{0xc3}, kBase, detour)) << "has no padding in reach";
  EXPECT_FALSE(plan_at_pause(no_ops(7) + kPauses + no_ops(1) + Bytes{0xc3}, kBase + 7, detour))
      << "lies across two aligned words";
  EXPECT_FALSE(plan_at_pause(kPauses + no_ops(8) + Bytes{0xc3}, kBase + 2, detour)) << "is none";
  // pause; nop; ret: behind a jump the no-op would look like padding.
  Bytes before_no_op = Bytes{0xf3, 0x90, 0x90, 0xc3} + no_ops(12) + Bytes{0xc3};
  EXPECT_FALSE(plan_at_pause(before_no_op, kBase, detour));
  // A jump leads to its second byte, which is a no-op by itself.
  Bytes jumped_into =
      Bytes{0xf3, 0x90, 0x48, 0x39, 0xc2, 0x74, 0xfa, 0xc3} + no_ops(8) + Bytes{0xc3};
  EXPECT_FALSE(plan_at_pause(jumped_into, kBase, detour));
}

TEST(DetourTest, Refuses_what_is_no_branch) {
  Bytes code = kWait + no_ops(7) + Bytes{0xc3};
  Detour detour;
  EXPECT_FALSE(plan(code, kBase, detour));
  EXPECT_FALSE(plan(code, kBase + 1, detour));
}

}  // namespace
}  // namespace roost::spin
