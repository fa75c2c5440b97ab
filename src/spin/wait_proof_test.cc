// Real loops, as compilers emit them: which of them are proved to wait, and with which memory.
#include "spin/wait_proof.h"

#include <gtest/gtest.h>

#include <cstring>

#if defined(__x86_64__)

// Each loop is followed by its name with _end.
#define LOOP(name, code)                                            \
  extern "C" const std::uint8_t loop_##name[], loop_##name##_end[]; \
  asm(".pushsection .rodata\n"                                      \
      "loop_" #name ":\n" code "\nloop_" #name                      \
      "_end:\n"                                                     \
      ".fill 16, 1, 0xcc\n.popsection")

LOOP(blis_barrier, "1: mov (%rcx), %rax\n cmp %rax, %rdx\n je 1b");
LOOP(pause_flag, "1: pause\n mov (%rcx), %eax\n test %eax, %eax\n je 1b");
LOOP(compare_in_memory, "1: cmpl $0, (%rcx)\n je 1b");
LOOP(byte_flag, "1: movzbl (%rcx), %eax\n test %al, %al\n je 1b");
LOOP(ticket, "1: mov (%rcx), %eax\n cmp %edx, %eax\n je 2f\n pause\n jmp 1b\n 2:");
LOOP(pointers, "1: mov (%rcx), %rax\n mov 8(%rax), %eax\n test %eax, %eax\n je 1b");
LOOP(indexed, "1: mov 16(%rcx,%rbx,8), %rax\n test %rax, %rax\n jne 1b");
// while (*turn % n != me);
LOOP(turn, "1: mov (%rcx), %eax\n cltd\n idivl %esi\n cmp %ebx, %edx\n jne 1b");
LOOP(exchange, "1: mov $1, %eax\n xchg %eax, (%rcx)\n test %eax, %eax\n jne 1b");
LOOP(compare_exchange, "1: xor %eax, %eax\n lock cmpxchg %edx, (%rcx)\n jne 1b");
LOOP(test_and_test,
     "1: mov (%rcx), %eax\n test %eax, %eax\n jne 1b\n mov $1, %eax\n"
     "xchg %eax, (%rcx)\n test %eax, %eax\n jne 1b");
LOOP(spilled,
     "1: mov (%rcx), %eax\n mov %eax, 32(%rcx)\n mov 32(%rcx), %eax\n test %eax, %eax\n"
     "je 1b");
// OpenBLAS, exec_blas_async: slots of 128 bytes, scanned round and round.
LOOP(scan,
     "1: mov %rdx, %rax\n shl $7, %rax\n add %rcx, %rax\n mov (%rax), %rdi\n test %rdi, %rdi\n"
     "je 9f\n 2: mov %ebx, %eax\n add $1, %rdx\n sub $1, %eax\n cltq\n cmp %rdx, %rax\n jg 1b\n"
     "mov %rcx, %rax\n xor %edx, %edx\n mov (%rax), %rdi\n test %rdi, %rdi\n jne 2b\n 9:");
LOOP(countdown,
     "1: pause\n mov (%rcx), %eax\n test %eax, %eax\n jne 2f\n sub $1, %edx\n jne 1b\n 2:");
LOOP(timed, "1: rdtsc\n cmp %rdi, %rax\n jb 1b");
LOOP(yields, "1: call 3f\n 3: mov (%rcx), %eax\n test %eax, %eax\n je 1b");
LOOP(find_byte, "1: cmpb $1, (%rcx)\n je 2f\n add $1, %rcx\n cmp %rbx, %rcx\n jne 1b\n 2:");
LOOP(length, "1: add $1, %rcx\n cmpb $0, (%rcx)\n jne 1b");
LOOP(compare_strings,
     "1: movzbl (%rcx,%rdx), %eax\n cmp %al, 64(%rcx,%rdx)\n jne 2f\n inc %rdx\n"
     "cmp %rbx, %rdx\n jne 1b\n 2:");
LOOP(sum, "1: add (%rcx,%rdx,8), %rax\n inc %rdx\n cmp %rbx, %rdx\n jne 1b");
LOOP(vector_sum, "1: vaddpd (%rcx,%rdx,8), %ymm0, %ymm0\n add $4, %rdx\n cmp %rbx, %rdx\n jne 1b");
LOOP(sse_loop, "1: movups (%rcx), %xmm0\n cmp %rbx, %rdx\n jne 1b");
LOOP(fill, "1: mov %rax, (%rcx,%rdx,8)\n inc %rdx\n cmp %rbx, %rdx\n jne 1b");
LOOP(count_in_memory, "1: addl $1, (%rcx)\n cmpl $0, 64(%rcx)\n je 1b");
LOOP(probe,
     "1: mov (%rcx,%rdx,8), %rax\n cmp %rdi, %rax\n je 2f\n inc %edx\n and $7, %edx\n jmp 1b\n 2:");
LOOP(chase, "1: mov (%rcx), %rcx\n test %rcx, %rcx\n jne 1b");
LOOP(random, "1: imul $69069, %eax, %eax\n cmp %ebx, %eax\n jne 1b");

namespace roost::spin {
namespace {

bool read(std::uint64_t address, unsigned width, std::uint64_t& value) {
  value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), width);
  return true;
}

class WaitProofTest : public testing::Test {
 protected:
  // From the loop's start, with the registers as the test set them.
  WaitProof prove(const std::uint8_t* start, const std::uint8_t* end, unsigned steps = 1024) {
    CodeWindow code{};
    code.address = reinterpret_cast<std::uint64_t>(start);
    code.size = static_cast<std::uint32_t>(end - start);
    std::memcpy(code.bytes, start, code.size);
    registers.instruction_pointer = code.address;
    std::uint64_t stack[64] = {};
    registers.general[4] = reinterpret_cast<std::uint64_t>(stack + 64);
    return prove_wait(registers, code, read, steps);
  }
  std::uint64_t& rax = registers.general[0];
  std::uint64_t& rcx = registers.general[1];
  std::uint64_t& rdx = registers.general[2];
  std::uint64_t& rbx = registers.general[3];
  std::uint64_t& rdi = registers.general[7];
  Registers registers{};
  alignas(64) std::uint64_t words[64] = {};

  void SetUp() override { rcx = reinterpret_cast<std::uint64_t>(words); }
};

#define PROVE(name) prove(loop_##name, loop_##name##_end)

TEST_F(WaitProofTest, A_barrier_waits_on_its_word) {
  words[0] = rdx = 7;
  WaitProof proof = PROVE(blis_barrier);
  ASSERT_TRUE(proof.waits);
  EXPECT_EQ(proof.steps, 3u);
  ASSERT_EQ(proof.loads.count(), 1u);
  EXPECT_TRUE(proof.all_loads);
  EXPECT_EQ(proof.loads[0], (Load{rcx, 7, 8}));
  ASSERT_EQ(proof.branches.count(), 1u);
  EXPECT_EQ(proof.branches[0].address, reinterpret_cast<std::uint64_t>(loop_blis_barrier) + 6);
  EXPECT_EQ(proof.branches[0].target, reinterpret_cast<std::uint64_t>(loop_blis_barrier));
  EXPECT_EQ(proof.branches[0].length, 2);
  words[0] = 8;
  EXPECT_FALSE(PROVE(blis_barrier).waits) << "the barrier has opened";
}

TEST_F(WaitProofTest, Flags_of_all_kinds_wait_until_they_are_set) {
  EXPECT_TRUE(PROVE(pause_flag).waits);
  EXPECT_TRUE(PROVE(compare_in_memory).waits);
  EXPECT_TRUE(PROVE(byte_flag).waits);
  EXPECT_TRUE(PROVE(ticket).waits == false) << "the ticket is served";
  rdx = 3;
  EXPECT_TRUE(PROVE(ticket).waits);
  words[0] = 1;
  EXPECT_FALSE(PROVE(pause_flag).waits);
  EXPECT_FALSE(PROVE(compare_in_memory).waits);
  EXPECT_FALSE(PROVE(byte_flag).waits);
}

TEST_F(WaitProofTest, Turns_wait_until_they_come) {
  registers.general[6] = 4;
  rbx = 3;
  words[0] = 6;
  WaitProof proof = PROVE(turn);
  ASSERT_TRUE(proof.waits);
  ASSERT_EQ(proof.loads.count(), 1u);
  EXPECT_EQ(proof.loads[0], (Load{rcx, 6, 4}));
  words[0] = 7;
  EXPECT_FALSE(PROVE(turn).waits);
}

TEST_F(WaitProofTest, The_words_behind_pointers_and_indices_are_told) {
  words[0] = reinterpret_cast<std::uint64_t>(&words[8]);
  WaitProof proof = PROVE(pointers);
  ASSERT_TRUE(proof.waits);
  ASSERT_EQ(proof.loads.count(), 2u);
  EXPECT_EQ(proof.loads[1], (Load{reinterpret_cast<std::uint64_t>(&words[9]), 0, 4}));
  rbx = 5;
  words[7] = 1;
  proof = PROVE(indexed);
  ASSERT_TRUE(proof.waits);
  EXPECT_EQ(proof.loads[0], (Load{reinterpret_cast<std::uint64_t>(&words[7]), 1, 8}));
}

TEST_F(WaitProofTest, A_lock_waits_while_it_is_taken) {
  rdx = 1;
  EXPECT_FALSE(PROVE(exchange).waits) << "the lock is free: this would take it";
  EXPECT_FALSE(PROVE(compare_exchange).waits);
  EXPECT_FALSE(PROVE(test_and_test).waits);
  words[0] = 1;
  EXPECT_TRUE(PROVE(exchange).waits);
  EXPECT_TRUE(PROVE(compare_exchange).waits);
  EXPECT_TRUE(PROVE(test_and_test).waits);
  words[0] = 2;
  EXPECT_FALSE(PROVE(exchange).waits) << "the exchange would change the word";
}

TEST_F(WaitProofTest, A_spill_of_the_same_value_changes_nothing) {
  EXPECT_TRUE(PROVE(spilled).waits);
  words[4] = 9;
  EXPECT_FALSE(PROVE(spilled).waits);
}

TEST_F(WaitProofTest, A_scan_waits_while_all_slots_are_taken) {
  for (unsigned slot = 0; slot < 3; ++slot) words[slot * 16] = 1;
  rbx = 4;
  WaitProof proof = PROVE(scan);
  ASSERT_TRUE(proof.waits);
  EXPECT_EQ(proof.loads.count(), 3u);
  EXPECT_EQ(proof.branches[0].taken, 1u) << "first the branch that a round takes once";
  words[2 * 16] = 0;
  EXPECT_FALSE(PROVE(scan).waits);
}

TEST_F(WaitProofTest, Bounded_spins_do_not_wait) {
  rdx = 1'000'000;
  EXPECT_FALSE(PROVE(countdown).waits);
  EXPECT_FALSE(PROVE(timed).waits);
  EXPECT_FALSE(PROVE(yields).waits);
}

TEST_F(WaitProofTest, Computations_do_not_wait) {
  rbx = ~0ull;
  for (std::uint64_t& word : words) word = 0x0202020202020202;
  words[63] = 0;
  EXPECT_FALSE(PROVE(length).waits);
  rbx = reinterpret_cast<std::uint64_t>(words + 64);
  EXPECT_FALSE(PROVE(find_byte).waits);
  rbx = 32;
  EXPECT_FALSE(PROVE(compare_strings).waits);
  EXPECT_FALSE(PROVE(sum).waits);
  EXPECT_FALSE(PROVE(vector_sum).waits);
  EXPECT_FALSE(PROVE(sse_loop).waits);
  EXPECT_FALSE(PROVE(fill).waits);
  EXPECT_FALSE(PROVE(count_in_memory).waits);
  rax = 1;
  EXPECT_FALSE(PROVE(random).waits);
  for (int i = 0; i < 62; ++i) words[i] = reinterpret_cast<std::uint64_t>(&words[i + 1]);
  words[62] = 0;
  EXPECT_FALSE(PROVE(chase).waits);
}

TEST_F(WaitProofTest, A_probe_that_ends_does_not_wait) {
  for (int i = 0; i < 8; ++i) words[i] = 5;
  words[3] = 0;
  rdx = 4;
  rdi = 0;
  EXPECT_FALSE(PROVE(probe).waits);
  words[3] = 5;
  EXPECT_TRUE(PROVE(probe).waits) << "without an empty slot only somebody else can end it";
}

TEST_F(WaitProofTest, A_long_round_needs_enough_steps) {
  for (unsigned slot = 0; slot < 4; ++slot) words[slot * 16] = 1;
  rbx = 5;
  EXPECT_FALSE(prove(loop_scan, loop_scan_end, 20).waits);
  EXPECT_TRUE(prove(loop_scan, loop_scan_end, 400).waits);
}

}  // namespace
}  // namespace roost::spin

#endif
