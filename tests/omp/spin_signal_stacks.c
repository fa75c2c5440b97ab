// sanitized: address
// reason: ThreadSanitizer holds signals back until a call of libc, which a spin does not make
//
// Members that take turns by spinning come to run on threads that have an alternate signal stack of
// the program's, be it a small one, as Python's faulthandler and Rust give. One that spins in a
// handler on that stack is left alone: a sibling's signal would begin where its handler is. And
// what lies below a small one, most of which is in use, is not written to.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

enum {
  MEMBERS = 8,
  ROUNDS = 4,
  SMALL = 8192,
  LARGE = 65536,
  BELOW = 2048,
  STACKS = 64,
  MARK = 0x5a
};

static unsigned char* below[STACKS];
static int stacks;

static void give_stack(int bytes) {
  unsigned char* all = malloc(BELOW + bytes);
  memset(all, MARK, BELOW);
  below[__atomic_fetch_add(&stacks, 1, __ATOMIC_SEQ_CST)] = all;
  stack_t stack = {.ss_sp = all + BELOW, .ss_size = bytes};
  EXPECT_EQ(sigaltstack(&stack, NULL), 0);
}

static int count_overflows(void) {
  int count = 0;
  for (int i = 0; i < stacks; ++i)
    for (int k = 0; k < BELOW; ++k) count += below[i][k] != MARK;
  return count;
}

static volatile int turn;

static void take_turns(int bytes) {
  turn = 0;
#pragma omp parallel num_threads(MEMBERS)
  {
    int me = omp_get_thread_num();
    give_stack(bytes);
#pragma omp barrier
    for (int i = 0; i < ROUNDS; ++i) {
      while (turn % MEMBERS != me) {
      }
      turn++;
    }
  }
  EXPECT_EQ(turn, MEMBERS * ROUNDS);
}

static volatile int opened, waiting, changed;

static void* open_later(void* unused) {
  usleep(100000);
  opened = 1;
  return unused;
}

static void wait_in_handler(int signal) {
  unsigned char mine[1000];
  memset(mine, signal, sizeof mine);
  __asm__ volatile("" ::"r"(mine) : "memory");
  __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
  while (!opened) {
  }
  for (unsigned i = 0; i < sizeof mine; ++i)
    if (mine[i] != signal) changed = 1;
}

static void wait_in_handlers(int bytes) {
  opened = waiting = 0;
  struct sigaction action = {.sa_handler = wait_in_handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  pthread_t opener;
  EXPECT_EQ(pthread_create(&opener, NULL, open_later, NULL), 0);
#pragma omp parallel num_threads(MEMBERS)
  {
    give_stack(bytes);
    raise(SIGUSR1);
  }
  pthread_join(opener, NULL);
  EXPECT_EQ(waiting, MEMBERS);
  EXPECT_EQ(changed, 0);
}

int main(void) {
  give_stack(SMALL);
  take_turns(SMALL);
  take_turns(LARGE);
  if (!getenv("ROOST_INSTANCE")) {
    wait_in_handlers(SMALL);
    wait_in_handlers(LARGE);
  }
  EXPECT_EQ(count_overflows(), 0);
  return verdict();
}
