// Wait loops of eight no-ops, and what looks like them.
#include "spin/wait_room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "spin/detour.h"

namespace roost::spin {
namespace {

using Code = std::vector<std::uint8_t>;

Code wait_with(std::size_t no_ops, std::uint8_t back) {
  Code code = {0x48, 0x8b, 0x02};  // mov (%rdx),%rax
  code.insert(code.end(), no_ops, 0x90);
  // mov (%rdx),%rax; test %rax,%rax; jne
  for (int byte : {0x48, 0x8b, 0x02, 0x48, 0x85, 0xc0, 0x75}) code.push_back(byte);
  code.push_back(back);
  code.push_back(0xc3);
  return code;
}
std::size_t find(const Code& code) { return find_idle_wait(code.data(), code.size(), 0); }

TEST(WaitRoomTest, eight_no_ops_in_a_loop_are_found) { EXPECT_EQ(find(wait_with(8, 0xf0)), 3u); }

TEST(WaitRoomTest, fewer_and_more_are_not) {
  EXPECT_EQ(find(wait_with(7, 0xf1)), wait_with(7, 0).size());
  EXPECT_EQ(find(wait_with(9, 0xef)), wait_with(9, 0).size());
}

TEST(WaitRoomTest, nor_those_that_nothing_leads_back_to) {
  EXPECT_EQ(find(wait_with(8, 0x02)), wait_with(8, 0).size());
  EXPECT_EQ(find(wait_with(8, 0xf1)), wait_with(8, 0).size()) << "into their middle";
}

TEST(WaitRoomTest, the_next_one_is_found_from_there) {
  Code code = wait_with(8, 0xf0), second = wait_with(8, 0xf0);
  std::size_t first_size = code.size();
  code.insert(code.end(), second.begin(), second.end());
  EXPECT_EQ(find_idle_wait(code.data(), code.size(), 3), 3u);
  EXPECT_EQ(find_idle_wait(code.data(), code.size(), 4), first_size + 3);
}

TEST(WaitRoomTest, the_room_is_enough_for_a_detour) {
  Code code = wait_with(8, 0xf0);
  Detour detour;
  constexpr std::uint64_t kAt = 0x10000, kStub = 0x900000;
  std::uint64_t branch = kAt + 3 + 8 + 6;
  EXPECT_FALSE(plan_detour(code.data(), code.size(), kAt, branch, kStub, detour));
  std::copy(std::begin(kRoom), std::end(kRoom), code.begin() + 3);
  ASSERT_TRUE(plan_detour(code.data(), code.size(), kAt, branch, kStub, detour));
  EXPECT_EQ(detour.n_hops, 1u);
  EXPECT_EQ(detour.hops[0].address, kAt + 5);
}

}  // namespace
}  // namespace roost::spin
