// A member that computes with its stack pointer in memory that is no stack, as the matrix kernels
// of oneDNN do, is not interrupted there: nothing is written below the stack pointer.
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { MEMBERS = 9, ROUNDS = 4, BYTES = 65536, BELOW = 32768 };

int main(void) {
#if defined(__x86_64__)
  int changed = 0;
#pragma omp parallel num_threads(MEMBERS)
  for (int round = 0; round < ROUNDS; ++round) {
    unsigned char* data = malloc(BYTES);
    memset(data, 0x55, BYTES);
#pragma omp barrier
    // Some 20 ms, for which those wait that have left the barrier on the same thread.
    __asm__ volatile(
        "mov %%rsp, %%r12\n mov %0, %%rsp\n mov $20000000, %%rcx\n"
        "1: imul %%rcx, %%rax\n dec %%rcx\n jnz 1b\n mov %%r12, %%rsp\n"
        :
        : "r"(data + BELOW)
        : "rcx", "rax", "r12", "memory", "cc");
    for (int i = 0; i < BYTES; ++i) add(&changed, data[i] != 0x55);
    free(data);
  }
  EXPECT_EQ(changed, 0);
#endif
  return 0;
}
