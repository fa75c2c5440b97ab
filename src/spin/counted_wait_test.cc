// Spins that end in a yield, as compilers emit them, and what only looks like
// one.
#include "spin/counted_wait.h"

#include <gtest/gtest.h>

#include <cstring>

#if defined(__x86_64__)

// From the return of the yield at 4 to the call before it, 9 behind the wait.
#define SPIN_THEN(name, code, behind)                                                       \
  extern "C" const std::uint8_t spin_##name[], spin_##name##_end[], spin_##name##_back[];   \
  asm(".pushsection .rodata\n"                                                              \
      "spin_" #name ":\n" code                                                              \
      "3: mov %rdx, 16(%rsp)\n mov %rcx, 8(%rsp)\n call 9f\n"                               \
      "spin_" #name "_back:\n mov 8(%rsp), %rcx\n mov 16(%rsp), %rdx\n jmp 1b\n 9: " behind \
      "\n ret\n spin_" #name "_end: .fill 16, 1, 0xcc\n.popsection")
#define SPIN(name, code) SPIN_THEN(name, code, "xor %ebx, %ebx")

// MKL's omp_parallel_acopy, both kinds.
SPIN(at_head,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n 2: cmp $0x1387, %ebx\n "
     "jg 3f\n pause\n"
     "mov (%rcx), %rax\n add $1, %ebx\n cmp %rax, %rdx\n ja 2b\n jmp 9f\n");
SPIN(at_end,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n cmp $0x1387, "
     "%ebx\n jg 3f\n 2: pause\n"
     "mov (%rcx), %rax\n add $1, %ebx\n cmp %rax, %rdx\n jbe 9f\n cmp "
     "$0x1387, %ebx\n jle 2b\n");
SPIN(without_pause,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n 2: cmp $0x1387, %ebx\n "
     "jg 3f\n"
     "mov (%rcx), %rax\n add $1, %ebx\n cmp %rax, %rdx\n ja 2b\n jmp 9f\n");
SPIN(short_already,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n 2: cmp $100, %ebx\n jg "
     "3f\n pause\n"
     "mov (%rcx), %rax\n add $1, %ebx\n cmp %rax, %rdx\n ja 2b\n jmp 9f\n");
// Its count is lost by a call.
SPIN(saves_count,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n mov 24(%rsp), %esi\n 2: cmp $0x1387, %esi\n"
     "jg 4f\n pause\n mov (%rcx), %rax\n add $1, %esi\n cmp %rax, %rdx\n ja 2b\n jmp 9f\n"
     "4: mov %esi, 24(%rsp)\n");
// Adds up what it finds.
SPIN(sum,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n 2: cmp $0x1387, "
     "%ebx\n jg 3f\n pause\n"
     "add (%rcx), %r8\n add $1, %ebx\n cmp %rax, %rdx\n ja 2b\n jmp 9f\n");
// Looks at another word each time.
SPIN(scan,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n 2: cmp $0x1387, "
     "%ebx\n jg 3f\n pause\n"
     "add $1, %ebx\n mov (%rcx,%rbx,8), %rax\n cmp %rax, %rdx\n ja 2b\n "
     "jmp 9f\n");
SPIN(store,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n 2: cmp $0x1387, "
     "%ebx\n jg 3f\n pause\n"
     "mov (%rcx), %rax\n add $1, %ebx\n mov %ebx, 24(%rsp)\n cmp %rax, "
     "%rdx\n ja 2b\n jmp 9f\n");
// Yields for another reason than its count.
SPIN(by_a_word,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n cmpq $0, 8(%rcx)\n je 3f\n"
     "2: cmp $0x1387, %ebx\n jg 9f\n pause\n mov (%rcx), %rax\n add $1, %ebx\n "
     "cmp %rax, %rdx\n"
     "ja 2b\n jmp 9f\n");

// Says once that it has waited for long.
SPIN(tells,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n cmp $0x1387, "
     "%ebx\n jg 3f\n 2: pause\n"
     "mov (%rcx), %rax\n add $1, %ebx\n cmp %rax, %rdx\n jbe 9f\n cmp "
     "$0x1387, %ebx\n jle 2b\n"
     "addq $1, 8(%rcx)\n");
SPIN_THEN(returns_count,
          "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n 2: cmp $0x1387, "
          "%ebx\n jg 3f\n pause\n"
          "mov (%rcx), %rax\n add $1, %ebx\n cmp %rax, %rdx\n ja 2b\n jmp 9f\n",
          "mov %ebx, %eax");
// Ends when the count is just that.
SPIN(equal,
     "1: mov (%rcx), %rax\n cmp %rax, %rdx\n jbe 9f\n 2: cmp $0x1387, %ebx\n "
     "je 3f\n pause\n"
     "mov (%rcx), %rax\n add $1, %ebx\n cmp %rax, %rdx\n ja 2b\n jmp 9f\n");

namespace roost::spin {
namespace {

bool read_word_of_test(std::uint64_t address, unsigned width, std::uint64_t& value) {
  value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), width);
  return true;
}

const std::uint8_t* code_begins;
const std::uint8_t* code_ends;
bool read_code_of_test(std::uint64_t, CodeWindow& code) {
  code.address = reinterpret_cast<std::uint64_t>(code_begins);
  code.size = static_cast<std::uint32_t>(code_ends - code_begins);
  std::memcpy(code.bytes, code_begins, code.size);
  return true;
}

class CountedWaitTest : public testing::Test {
 protected:
  void SetUp() override {
    registers.general[1] = stack[1] = reinterpret_cast<std::uint64_t>(words);
    registers.general[2] = stack[2] = 2;
    registers.general[3] = 5000;
    registers.general[4] = reinterpret_cast<std::uint64_t>(stack);
  }
  bool find(const std::uint8_t* begin, const std::uint8_t* end, const std::uint8_t* back) {
    code_begins = begin;
    code_ends = end;
    registers.instruction_pointer = reinterpret_cast<std::uint64_t>(back);
    return find_counted_wait(registers, read_code_of_test, read_word_of_test, wait);
  }
  std::int32_t number_at_bound() const {
    std::int32_t number;
    std::memcpy(&number, reinterpret_cast<const void*>(wait.bound), sizeof number);
    return number;
  }
  Registers registers{};
  CountedWait wait{};
  std::uint64_t stack[8] = {}, words[2] = {1, 0};
};

#define FIND(name) find(spin_##name, spin_##name##_end, spin_##name##_back)

TEST_F(CountedWaitTest, is_found_from_its_yield) {
  ASSERT_TRUE(FIND(at_head));
  EXPECT_EQ(wait.rounds, 0x1387);
  EXPECT_EQ(number_at_bound(), 0x1387);
}

TEST_F(CountedWaitTest, is_found_where_another_comparison_stands_before_it) {
  ASSERT_TRUE(FIND(at_end));
  EXPECT_EQ(number_at_bound(), 0x1387);
  EXPECT_GT(wait.comparison,
            reinterpret_cast<std::uint64_t>(spin_at_end) + 20);  // the second
}

TEST_F(CountedWaitTest, is_found_where_its_count_is_saved_around_the_yield) {
  stack[3] = 5000;
  EXPECT_TRUE(FIND(saves_count));
}

TEST_F(CountedWaitTest, is_none_once_it_is_over) {
  words[0] = 2;
  EXPECT_FALSE(FIND(at_head));
  EXPECT_FALSE(FIND(at_end));
}

TEST_F(CountedWaitTest, is_nothing_that_computes) {
  EXPECT_FALSE(FIND(without_pause));
  EXPECT_FALSE(FIND(sum));
  EXPECT_FALSE(FIND(store));
}

TEST_F(CountedWaitTest, looks_at_the_same_words_in_each_round) {
  std::uint64_t many[5008] = {1};
  registers.general[1] = stack[1] = reinterpret_cast<std::uint64_t>(many);
  EXPECT_FALSE(FIND(scan));
}

TEST_F(CountedWaitTest, is_not_worth_it_if_it_is_short) { EXPECT_FALSE(FIND(short_already)); }

TEST_F(CountedWaitTest, ends_once_its_count_is_past_the_bound) {
  registers.general[3] = 0x1387;
  EXPECT_FALSE(FIND(equal));
}

TEST_F(CountedWaitTest, does_nothing_else_at_its_end) { EXPECT_FALSE(FIND(tells)); }

TEST_F(CountedWaitTest, has_a_count_that_nobody_looks_at) { EXPECT_FALSE(FIND(returns_count)); }

TEST_F(CountedWaitTest, ends_by_its_count) { EXPECT_FALSE(FIND(by_a_word)); }

}  // namespace
}  // namespace roost::spin

#endif
