// Handlers that leave a read by siglongjmp at any moment of it, with more threads than cores: after
// that the threads are as good as any other.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "expect.h"
#include "handled.h"

enum { THREADS = 6, JUMPS = 400 };

static struct jumper {
  pthread_t thread;
  int pipe[2];
  int jumps;     // made by now
  int may_jump;  // whether the thread has somewhere to jump to
} jumpers[THREADS];
static __thread struct jumper* own;
static __thread sigjmp_buf out;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long passes;  // under the mutex

static void jump(int number) {
  (void)number;
  if (!__atomic_exchange_n(&own->may_jump, 0, __ATOMIC_RELAXED)) return;
  siglongjmp(out, 1);
}

static void* jumper(void* row) {
  char byte;
  own = row;
  while (__atomic_load_n(&own->jumps, __ATOMIC_RELAXED) < JUMPS) {
    if (sigsetjmp(out, 1) == 0) {
      __atomic_store_n(&own->may_jump, 1, __ATOMIC_RELAXED);
      (void)!read(own->pipe[0], &byte, 1);
      EXPECT(!"nothing was there to read");
    }
    __atomic_fetch_add(&own->jumps, 1, __ATOMIC_RELAXED);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    ++passes;
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }
  EXPECT_EQ(read(own->pipe[0], &byte, 1), 1);
  return NULL;
}

CASE(a_handler_may_jump_out_of_a_read_at_any_moment_of_it) {
  handle(jump, SA_RESTART);
  for (int i = 0; i < THREADS; ++i) {
    EXPECT_EQ(pipe(jumpers[i].pipe), 0);
    EXPECT_EQ(pthread_create(&jumpers[i].thread, NULL, jumper, &jumpers[i]), 0);
  }
  for (int left = THREADS; left > 0;) {
    left = 0;
    for (int i = 0; i < THREADS; ++i) {
      if (__atomic_load_n(&jumpers[i].jumps, __ATOMIC_RELAXED) >= JUMPS) continue;
      ++left;
      // As soon as it may: then it often is on its way into the kernel.
      if (__atomic_load_n(&jumpers[i].may_jump, __ATOMIC_RELAXED))
        EXPECT_EQ(pthread_kill(jumpers[i].thread, SIGUSR1), 0);
    }
    sched_yield();
  }
  for (int i = 0; i < THREADS; ++i) {
    EXPECT_EQ(write(jumpers[i].pipe[1], "", 1), 1);
    EXPECT_EQ(pthread_join(jumpers[i].thread, NULL), 0);
  }
  EXPECT_EQ(passes, (long)THREADS * JUMPS);
}
