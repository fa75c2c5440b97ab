// Entries of functions, moved to make room for a jump.
#include "spin/entry.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace roost::spin {
namespace {

using Code = std::vector<std::uint8_t>;
constexpr std::uint64_t kEntry = 0x100000, kPlace = 0x900000;

bool move_to(const Code& code, MovedEntry& moved, std::uint64_t place = kPlace) {
  return move_entry(code.data(), code.size(), kEntry, place, moved);
}

std::int32_t displacement_at(const std::uint8_t* at) {
  std::int32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

TEST(EntryTest, whole_instructions_are_copied_and_followed_by_a_jump_back) {
  // push %rbp; mov %rdi,%rbp; push %rbx; ret
  MovedEntry moved;
  ASSERT_TRUE(move_to({0x55, 0x48, 0x89, 0xfd, 0x53, 0xc3}, moved));
  EXPECT_EQ(moved.room, 5u);
  EXPECT_EQ(moved.size, 10u);
  EXPECT_EQ(Code(moved.code, moved.code + 6), (Code{0x55, 0x48, 0x89, 0xfd, 0x53, 0xe9}));
  EXPECT_EQ(kPlace + 10 + static_cast<std::int64_t>(displacement_at(moved.code + 6)), kEntry + 5);
}

TEST(EntryTest, what_is_relative_to_the_instruction_stays_what_it_was) {
  // sub $0x18,%rsp; mov 0x1000(%rip),%rax; ret
  MovedEntry moved;
  ASSERT_TRUE(move_to({0x48, 0x83, 0xec, 0x18, 0x48, 0x8b, 0x05, 0x00, 0x10, 0, 0, 0xc3}, moved));
  EXPECT_EQ(moved.room, 11u);
  EXPECT_EQ(kPlace + 11 + static_cast<std::int64_t>(displacement_at(moved.code + 7)),
            kEntry + 11 + 0x1000);
}

TEST(EntryTest, with_an_immediate_behind_the_displacement) {
  // cmpl $0x12345678,0x1000(%rip); ret
  MovedEntry moved;
  ASSERT_TRUE(move_to({0x81, 0x3d, 0x00, 0x10, 0, 0, 0x78, 0x56, 0x34, 0x12, 0xc3}, moved));
  EXPECT_EQ(kPlace + 10 + static_cast<std::int64_t>(displacement_at(moved.code + 2)),
            kEntry + 10 + 0x1000);
  EXPECT_EQ(displacement_at(moved.code + 6), 0x12345678);
}

TEST(EntryTest, calls_for_thread_local_variables_may_follow) {
  // push %rbp; push %rbx; sub $0x8,%rsp; data16 lea 0(%rip),%rdi; data16 data16 rex.W call; ret
  Code code = {0x55, 0x53, 0x48, 0x83, 0xec, 0x08, 0x66, 0x48, 0x8d, 0x3d, 0, 0, 0, 0};
  MovedEntry moved;
  for (std::uint8_t byte : {0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0, 0xc3}) code.push_back(byte);
  EXPECT_TRUE(move_to(code, moved));
  EXPECT_EQ(moved.room, 6u);
  code[16] = 0x90;  // without REX.W the call is of two or of four bytes
  code.erase(code.begin() + 16);
  EXPECT_FALSE(move_to(code, moved));
}

TEST(EntryTest, conditional_jumps_lead_where_they_did) {
  // test %rdi,%rdi; jle +0x20; 32 no-ops; ret
  Code code = {0x48, 0x85, 0xff, 0x7e, 0x20};
  code.insert(code.end(), 0x20, 0x90);
  code.push_back(0xc3);
  MovedEntry moved;
  ASSERT_TRUE(move_to(code, moved));
  EXPECT_EQ(moved.room, 5u);
  EXPECT_EQ(Code(moved.code + 3, moved.code + 5), (Code{0x0f, 0x8e}));
  EXPECT_EQ(kPlace + 9 + static_cast<std::int64_t>(displacement_at(moved.code + 5)),
            kEntry + 5 + 0x20);
  EXPECT_EQ(kPlace + 14 + static_cast<std::int64_t>(displacement_at(moved.code + 10)), kEntry + 5);
  // To the instruction behind the moved ones, or between them: not worth the care.
  EXPECT_FALSE(move_to({0x55, 0x74, 0x02, 0x90, 0x90, 0x90, 0xc3}, moved));
}

TEST(EntryTest, an_entry_that_jumps_calls_or_ends_is_left_alone) {
  MovedEntry moved;
  EXPECT_FALSE(move_to({0xe8, 0, 1, 0, 0, 0xc3}, moved));
  EXPECT_FALSE(move_to({0x55, 0xc3, 0x90, 0x90, 0x90, 0x90}, moved));
}

TEST(EntryTest, so_is_one_into_which_a_jump_leads) {
  // push %rbp; L: mov %rdi,%rbp; push %rbx; jmp L
  MovedEntry moved;
  EXPECT_FALSE(move_to({0x55, 0x48, 0x89, 0xfd, 0x53, 0xeb, 0xfa}, moved));
  // The start itself is a good target: there the jump is.
  EXPECT_TRUE(move_to({0x55, 0x48, 0x89, 0xfd, 0x53, 0xeb, 0xf9}, moved));
}

TEST(EntryTest, a_place_out_of_reach_is_refused) {
  MovedEntry moved;
  EXPECT_FALSE(
      move_to({0x55, 0x48, 0x89, 0xfd, 0x53, 0xc3}, moved, kEntry + (std::uint64_t{1} << 32)));
}

TEST(EntryTest, a_function_that_is_cut_off_is_refused) {
  MovedEntry moved;
  EXPECT_FALSE(move_to({0x55, 0x48, 0x89}, moved));
}

}  // namespace
}  // namespace roost::spin
