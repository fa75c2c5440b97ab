// Spins that no proof follows are known by their pauses.
#include "spin/pauses.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace roost::spin {
namespace {

using Bytes = std::vector<std::uint8_t>;

bool read_code_here(std::uint64_t address, CodeWindow& code) {
  code = {address, sizeof code.bytes, {}};
  std::memcpy(code.bytes, reinterpret_cast<const void*>(address), sizeof code.bytes);
  return true;
}
bool read_bytes_here(std::uint64_t address, void* to, std::size_t size) {
  std::memcpy(to, reinterpret_cast<const void*>(address), size);
  return true;
}

// How far into the code the pause is that was found; -1: none was.
std::int64_t found_at(Bytes code, unsigned steps = 100) {
  code.resize(code.size() + 2 * sizeof(CodeWindow::bytes), 0x06);  // no instruction
  Registers start{};
  std::uint64_t stack[64] = {};
  start.instruction_pointer = reinterpret_cast<std::uint64_t>(code.data());
  start.general[kStackPointer] = reinterpret_cast<std::uint64_t>(&stack[32]);
  std::uint64_t pause = find_pause(start, {read_code_here, read_bytes_here}, steps);
  return pause ? static_cast<std::int64_t>(pause - start.instruction_pointer) : -1;
}

TEST(PausesTest, Finds_the_one_that_comes_again) {
  // inc %eax; pause; jmp to the start.
  EXPECT_EQ(found_at({0xff, 0xc0, 0xf3, 0x90, 0xeb, 0xfa}), 2);
  // call of pause; ret, which lies behind: call; jmp back to it.
  EXPECT_EQ(found_at({0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xf9, 0xf3, 0x90, 0xc3}), 7);
}

TEST(PausesTest, Finds_those_of_processors_that_pause_for_a_time) {
  // inc %eax; tpause %ecx; jmp to the start.
  EXPECT_EQ(found_at({0xff, 0xc0, 0x66, 0x0f, 0xae, 0xf1, 0xeb, 0xf8}), 2);
  // umonitor %rax; umwait %r9d; jmp to the start.
  EXPECT_EQ(found_at({0xf3, 0x0f, 0xae, 0xf0, 0xf2, 0x41, 0x0f, 0xae, 0xf1, 0xeb, 0xf5}), 4);
  // tpause; jc: how it ended is not known.
  EXPECT_EQ(found_at({0x66, 0x0f, 0xae, 0xf1, 0x72, 0xfa, 0xeb, 0xf8}), -1);
  // mfence; jmp to the start: no pause.
  EXPECT_EQ(found_at({0x0f, 0xae, 0xf0, 0xeb, 0xfb}), -1);
}

TEST(PausesTest, Finds_none_where_none_comes_again) {
  EXPECT_EQ(found_at({0xff, 0xc0, 0xeb, 0xfc}), -1) << "a computation";
  EXPECT_EQ(found_at({0xf3, 0x90, 0xff, 0xc0, 0xeb, 0xfc}), -1) << "only once";
  EXPECT_EQ(found_at({0xff, 0xc0, 0xf3, 0x90, 0xeb, 0xfa}, 3), -1) << "not in so many steps";
  EXPECT_EQ(found_at({0xf3, 0x90, 0x06}), -1) << "an instruction that is not on the list";
}

}  // namespace
}  // namespace roost::spin
