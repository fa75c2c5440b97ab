// A program with a malloc of its own, whose lock it takes around fork, as Chromium's and tcmalloc
// do: a child that has to wait for a core at once does not need memory for that.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { FAMILIES = 8, CHILDREN = 20 };

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);

static atomic_int taken;
static void take(void) {
  while (atomic_exchange(&taken, 1)) sched_yield();
}
static void give(void) { atomic_store(&taken, 0); }

void* malloc(size_t size) {
  take();
  void* memory = __libc_malloc(size);
  give();
  return memory;
}
void* calloc(size_t count, size_t size) {
  take();
  void* memory = __libc_calloc(count, size);
  give();
  return memory;
}
void* realloc(void* before, size_t size) {
  take();
  void* memory = __libc_realloc(before, size);
  give();
  return memory;
}
void free(void* memory) {
  take();
  __libc_free(memory);
  give();
}

static int status_of(pid_t child) {
  int status;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

static void compute(void) {
  for (volatile int i = 0; i < 300000; ++i) continue;
}

CASE(children_wait_for_a_core_while_the_lock_is_held) {
  EXPECT_EQ(pthread_atfork(take, give, give), 0);
  pid_t families[FAMILIES];
  for (int i = 0; i < FAMILIES; ++i) {
    families[i] = fork();
    if (families[i]) continue;
    for (int k = 0; k < CHILDREN; ++k) {
      pid_t child = fork();
      if (child == 0) {
        compute();
        free(malloc(100));
        _exit(3);
      }
      EXPECT_EQ(WEXITSTATUS(status_of(child)), 3);
    }
    _exit(0);
  }
  for (int i = 0; i < FAMILIES; ++i) EXPECT_EQ(status_of(families[i]), 0);
}
