// Code that waits by its own system calls is told from code that does not.
#include "os/inline_syscalls.h"

#include <gtest/gtest.h>

#include <vector>

namespace roost::os {
namespace {

#if defined(__x86_64__)
using Code = std::vector<unsigned char>;

constexpr unsigned char kNop = 0x90;

Code mov(std::uint32_t number, unsigned char register_number = 0) {
  Code code{static_cast<unsigned char>(0xb8 + register_number)};
  for (int shift = 0; shift < 32; shift += 8)
    code.push_back(static_cast<unsigned char>(number >> shift));
  return code;
}

// `before` nops, the mov, `between` nops, `syscall`, `after` nops.
bool found(const Code& load, std::size_t before = 0, std::size_t between = 0,
           std::size_t after = 0) {
  Code code(before, kNop);
  code.insert(code.end(), load.begin(), load.end());
  code.insert(code.end(), between, kNop);
  code.insert(code.end(), {0x0f, 0x05});
  code.insert(code.end(), after, kNop);
  return waits_inline(code.data(), code.size());
}

TEST(InlineSyscalls, futex_is_found_wherever_it_stands) {
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t after = 0; after < 40; ++after) {
      EXPECT_TRUE(found(mov(202), before, 3, after)) << before << " " << after;
    }
  }
}

TEST(InlineSyscalls, a_large_number_may_be_far_ahead_and_in_any_register) {
  EXPECT_TRUE(found(mov(202, 5), 300, 200, 5));
  EXPECT_FALSE(found(mov(202, 5), 300, 300, 5));
}

TEST(InlineSyscalls, a_small_number_counts_only_straight_in_eax) {
  EXPECT_TRUE(found(mov(24), 5, 10, 5));
  EXPECT_FALSE(found(mov(24), 5, 60, 5));
  EXPECT_FALSE(found(mov(24, 1), 5, 0, 5));
}

TEST(InlineSyscalls, other_calls_and_no_calls_do_not_count) {
  EXPECT_FALSE(found(mov(39), 5, 0, 5));  // getpid
  Code code = mov(202);
  code.insert(code.end(), 64, kNop);
  EXPECT_FALSE(waits_inline(code.data(), code.size()));
  EXPECT_FALSE(waits_inline(code.data(), 0));
  EXPECT_FALSE(waits_inline(code.data(), 1));
}

TEST(InlineSyscalls, the_displacement_of_a_jump_does_not_count) {
  for (unsigned char high : {0x00, 0xff}) {
    Code code = mov(202);
    code.insert(code.end(), {0x0f, 0x82, 0x0f, 0x05, high, high});  // jb
    code.insert(code.end(), 40, kNop);
    EXPECT_FALSE(waits_inline(code.data(), code.size()));
  }
}

TEST(InlineSyscalls, nothing_behind_the_end_is_read) {
  Code code = mov(202);
  code.push_back(0x0f);  // the second byte is missing
  for (std::size_t pad = 0; pad < 20; ++pad) {
    code.insert(code.begin(), kNop);
    EXPECT_FALSE(waits_inline(code.data(), code.size()));
  }
}
#endif

}  // namespace
}  // namespace roost::os
