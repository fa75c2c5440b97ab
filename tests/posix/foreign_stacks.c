// Code that computes with its stack pointer in memory that is no stack, as Erlang's processes and
// the matrix kernels of oneDNN do: nothing is written there. And alternate stacks, by which that is
// so, are as the program has set them.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { THREADS = 6, ROUNDS = 4, BYTES = 65536, BELOW = 32768 };

#if defined(__x86_64__)
// About 30 ms, without a scheduling point.
static void compute_with_stack_at(unsigned char* place) {
  __asm__ volatile(
      "mov %%rsp, %%r12\n mov %0, %%rsp\n mov $30000000, %%rcx\n"
      "1: imul %%rcx, %%rax\n dec %%rcx\n jnz 1b\n mov %%r12, %%rsp\n"
      :
      : "r"(place)
      : "rcx", "rax", "r12", "memory", "cc");
}

static void* compute(void* unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    unsigned char* data = malloc(BYTES);
    memset(data, 0x55, BYTES);
    compute_with_stack_at(data + BELOW);
    for (int i = 0; i < BYTES; ++i) EXPECT_EQ(data[i], 0x55);
    free(data);
  }
  return NULL;
}
CASE(data_below_the_stack_pointer_is_left_alone) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_create(&threads[i], NULL, compute, NULL), 0);
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}
#endif

// As varnishd's threads have one in common, for the handler of a fatal signal.
static void* share_stack(void* common) {
  stack_t stack = {.ss_sp = common, .ss_size = BYTES}, now;
  EXPECT_EQ(sigaltstack(&stack, NULL), 0);
  unsigned long a = 1, b = 2, c = 3, d = 4, rounds = 100000000;
#if defined(__x86_64__)
  __asm__ volatile("1: inc %0\n inc %1\n inc %2\n inc %3\n dec %4\n jnz 1b\n"
                   : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(rounds)
                   :
                   : "cc");
  EXPECT(a == 100000001 && b == 100000002 && c == 100000003 && d == 100000004 && rounds == 0);
#endif
  EXPECT_EQ(sigaltstack(NULL, &now), 0);
  EXPECT(now.ss_sp == common && now.ss_size == BYTES && now.ss_flags == 0);
  return NULL;
}
CASE(threads_that_set_the_same_stack_do_not_meet_there) {
  static char common[BYTES];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, share_stack, common), 0);
  for (int i = 0; i < THREADS; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

static stack_t now_set(void) {
  stack_t now;
  EXPECT_EQ(sigaltstack(NULL, &now), 0);
  return now;
}

static char* volatile handler_at;
static void note_place(int number) {
  (void)number;
  char here;
  handler_at = &here;
}

static void* set_stacks(void* unused) {
  (void)unused;
  EXPECT_EQ(now_set().ss_flags, SS_DISABLE);
  static __thread char large[131072], small[16384];
  stack_t stack = {.ss_sp = large, .ss_size = sizeof large}, before;
  EXPECT_EQ(sigaltstack(&stack, &before), 0);
  EXPECT_EQ(before.ss_flags, SS_DISABLE);
  EXPECT_EQ(raise(SIGUSR1), 0);
  EXPECT(handler_at >= large && handler_at < large + sizeof large);
  stack = (stack_t){.ss_sp = small, .ss_size = sizeof small};
  EXPECT_EQ(sigaltstack(&stack, &before), 0);
  EXPECT(before.ss_sp == large && before.ss_size == sizeof large && before.ss_flags == 0);
  EXPECT_EQ(raise(SIGUSR1), 0);
  char here;
  EXPECT(labs(handler_at - &here) > 4096);  // on an alternate stack, whichever
  EXPECT(now_set().ss_sp == small && now_set().ss_size == sizeof small && now_set().ss_flags == 0);
  stack = (stack_t){.ss_sp = small, .ss_size = 100};
  EXPECT_EQ(sigaltstack(&stack, NULL), -1);
  EXPECT(now_set().ss_sp == small);
  stack = (stack_t){.ss_flags = SS_DISABLE};
  EXPECT_EQ(sigaltstack(&stack, &before), 0);
  EXPECT(before.ss_sp == small);
  EXPECT_EQ(now_set().ss_flags, SS_DISABLE);
  EXPECT_EQ(raise(SIGUSR1), 0);
  return NULL;
}
CASE(alternate_stacks_are_as_they_were_set) {
  struct sigaction action = {.sa_handler = note_place, .sa_flags = SA_ONSTACK};
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
  set_stacks(NULL);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, set_stacks, NULL), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}
