// Thread attributes: stacks of every kind and size, guards, scheduling, signal masks; what a thread
// was created with is what pthread_getattr_np tells, however many threads ran before it.
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "child.h"
#include "expect.h"

static void run_with(const pthread_attr_t* attr, void* (*body)(void*), void* argument) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, attr, body, argument), 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
}

struct seen {
  size_t stack, guard;
  void* low;
  int detach, inherit, policy, scope;
  int local_is_on_stack;
};

static void* look(void* argument) {
  struct seen* seen = argument;
  pthread_attr_t attr;
  EXPECT_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
  EXPECT_EQ(pthread_attr_getstack(&attr, &seen->low, &seen->stack), 0);
  EXPECT_EQ(pthread_attr_getguardsize(&attr, &seen->guard), 0);
  EXPECT_EQ(pthread_attr_getdetachstate(&attr, &seen->detach), 0);
  EXPECT_EQ(pthread_attr_getschedpolicy(&attr, &seen->policy), 0);
  EXPECT_EQ(pthread_attr_getscope(&attr, &seen->scope), 0);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  char* here = (char*)&attr;
  seen->local_is_on_stack = here >= (char*)seen->low && here < (char*)seen->low + seen->stack;
  return NULL;
}

// libc may serve a request from a larger stack that it kept.
CASE(the_stack_is_as_large_as_was_asked_for) {
  for (int round = 0; round < 3; ++round) {
    for (size_t kib = 64; kib <= 32768; kib *= 4) {
      pthread_attr_t attr;
      struct seen seen;
      EXPECT_EQ(pthread_attr_init(&attr), 0);
      EXPECT_EQ(pthread_attr_setstacksize(&attr, kib * 1024), 0);
      run_with(&attr, look, &seen);
      EXPECT(seen.stack >= kib * 1024);
      EXPECT(seen.local_is_on_stack);
      EXPECT_EQ(pthread_attr_destroy(&attr), 0);
    }
  }
}

CASE(default_attributes_are_as_documented) {
  struct seen seen;
  pthread_attr_t attr;
  size_t stack, guard;
  EXPECT_EQ(pthread_getattr_default_np(&attr), 0);
  EXPECT_EQ(pthread_attr_getstacksize(&attr, &stack), 0);
  EXPECT_EQ(pthread_attr_getguardsize(&attr, &guard), 0);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  for (int i = 0; i < 20; ++i) {
    run_with(NULL, look, &seen);
    EXPECT(seen.stack >= stack);
    EXPECT_EQ(seen.guard, guard);
    EXPECT_EQ(seen.detach, PTHREAD_CREATE_JOINABLE);
    EXPECT_EQ(seen.policy, SCHED_OTHER);
    EXPECT_EQ(seen.scope, PTHREAD_SCOPE_SYSTEM);
    EXPECT(seen.local_is_on_stack);
  }
}

CASE(guard_size_is_what_was_asked_for) {
  for (int round = 0; round < 3; ++round) {
    for (size_t pages = 0; pages <= 16; pages += 8) {
      pthread_attr_t attr;
      struct seen seen;
      EXPECT_EQ(pthread_attr_init(&attr), 0);
      EXPECT_EQ(pthread_attr_setguardsize(&attr, pages * 4096), 0);
      run_with(&attr, look, &seen);
      EXPECT_EQ(seen.guard, pages * 4096);
      EXPECT_EQ(pthread_attr_destroy(&attr), 0);
    }
  }
}

CASE(new_default_attributes_hold_for_new_threads) {
  pthread_attr_t before, attr;
  struct seen seen;
  run_with(NULL, look, &seen);
  EXPECT_EQ(pthread_getattr_default_np(&before), 0);
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attr, 1 << 20), 0);
  EXPECT_EQ(pthread_setattr_default_np(&attr), 0);
  run_with(NULL, look, &seen);
  EXPECT(seen.stack >= 1 << 20);
  EXPECT_EQ(pthread_setattr_default_np(&before), 0);
  size_t stack;
  EXPECT_EQ(pthread_attr_getstacksize(&before, &stack), 0);
  run_with(NULL, look, &seen);
  EXPECT(seen.stack >= stack);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  EXPECT_EQ(pthread_attr_destroy(&before), 0);
}

// Uses nearly all of a stack of the given size.
static void* fill_stack(void* size) {
  size_t bytes = (size_t)(intptr_t)size - 32768;
  volatile char* all = __builtin_alloca(bytes);
  for (size_t i = 0; i < bytes; i += 4096) all[i] = 1;
  return NULL;
}

CASE(all_of_the_stack_can_be_used) {
  for (int i = 0; i < 6; ++i) {
    size_t bytes = i % 2 ? 16 << 20 : 256 << 10;
    pthread_attr_t attr;
    EXPECT_EQ(pthread_attr_init(&attr), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&attr, bytes), 0);
    run_with(&attr, fill_stack, (void*)(intptr_t)bytes);
    EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  }
}

static void* run_into_guard(void* argument) {
  struct seen seen;
  look(&seen);
  *(volatile char*)((char*)seen.low - 1) = 1;
  return argument;
}

static void overflow(void) {
  for (int i = 0; i < 3; ++i) {
    struct seen seen;
    run_with(NULL, look, &seen);
  }
  run_with(NULL, run_into_guard, NULL);
}

CASE(the_guard_catches_an_overflow) { EXPECT_EQ(outcome_in_child(overflow), -SIGSEGV); }

CASE(a_stack_of_ones_own_is_used_and_left_to_the_owner) {
  size_t bytes = 1 << 20;
  char* stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(stack != MAP_FAILED);
  pthread_attr_t attr;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setstack(&attr, stack, bytes), 0);
  for (int i = 0; i < 10; ++i) {
    struct seen seen;
    run_with(&attr, look, &seen);
    EXPECT(seen.low == stack);
    EXPECT_EQ(seen.stack, bytes);
    EXPECT(seen.local_is_on_stack);
    run_with(NULL, look, &seen);
    EXPECT(seen.low != stack);
    memset(stack, i, bytes);  // after the join no thread lives on it
  }
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  EXPECT_EQ(munmap(stack, bytes), 0);
  struct seen seen;
  for (int i = 0; i < 10; ++i) run_with(NULL, look, &seen);
}

static struct seen seen_detached;
static pthread_barrier_t has_looked;

static void* look_detached(void* argument) {
  look(&seen_detached);
  pthread_barrier_wait(&has_looked);
  return argument;
}

CASE(detached_state_is_told) {
  pthread_attr_t attr;
  int state = -1;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_getdetachstate(&attr, &state), 0);
  EXPECT_EQ(state, PTHREAD_CREATE_JOINABLE);
  EXPECT_EQ(pthread_attr_setdetachstate(&attr, 77), EINVAL);
  EXPECT_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), 0);
  EXPECT_EQ(pthread_barrier_init(&has_looked, NULL, 2), 0);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, &attr, look_detached, NULL), 0);
  pthread_barrier_wait(&has_looked);
  EXPECT_EQ(pthread_barrier_destroy(&has_looked), 0);
  EXPECT_EQ(seen_detached.detach, PTHREAD_CREATE_DETACHED);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
}

CASE(bad_attributes_are_refused) {
  pthread_attr_t attr;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attr, 1), EINVAL);
  EXPECT_EQ(pthread_attr_setstack(&attr, &attr, 1), EINVAL);
  EXPECT_EQ(pthread_attr_setscope(&attr, PTHREAD_SCOPE_PROCESS), ENOTSUP);
  EXPECT_EQ(pthread_attr_setscope(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_attr_setinheritsched(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_attr_setschedpolicy(&attr, 99), EINVAL);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
}

CASE(a_stack_beyond_all_memory_is_eagain) {
  pthread_attr_t attr;
  pthread_t thread;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attr, (size_t)1 << 60), 0);
  EXPECT_EQ(pthread_create(&thread, &attr, look, NULL), EAGAIN);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  struct seen seen;
  run_with(NULL, look, &seen);
}

static void* tell_policy(void* argument) {
  struct sched_param param;
  EXPECT_EQ(pthread_getschedparam(pthread_self(), argument, &param), 0);
  EXPECT_EQ(*(int*)argument, sched_getscheduler(0));
  return NULL;
}

CASE(an_explicit_policy_holds_for_that_thread_alone) {
  pthread_attr_t attr;
  struct sched_param param = {0};
  int policy = -1;
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED), 0);
  EXPECT_EQ(pthread_attr_setschedpolicy(&attr, SCHED_OTHER), 0);
  EXPECT_EQ(pthread_attr_setschedparam(&attr, &param), 0);
  run_with(&attr, tell_policy, &policy);
  EXPECT_EQ(policy, SCHED_OTHER);
  EXPECT_EQ(pthread_attr_setschedpolicy(&attr, SCHED_FIFO), 0);
  param.sched_priority = 1;
  EXPECT_EQ(pthread_attr_setschedparam(&attr, &param), 0);
  pthread_t thread;
  int error = pthread_create(&thread, &attr, tell_policy, &policy);
  if (error == EPERM) SKIP("real-time policies are not permitted");
  EXPECT_EQ(error, 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(policy, SCHED_FIFO);
  for (int i = 0; i < 5; ++i) {
    run_with(NULL, tell_policy, &policy);
    EXPECT_EQ(policy, SCHED_OTHER);
  }
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
}

static void* tell_mask(void* argument) {
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, NULL, argument), 0);
  return NULL;
}

CASE(a_signal_mask_in_the_attributes_replaces_the_inherited_one) {
  pthread_attr_t attr;
  sigset_t mask, seen;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setsigmask_np(&attr, &mask), 0);
  for (int i = 0; i < 5; ++i) {
    run_with(&attr, tell_mask, &seen);
    EXPECT(sigismember(&seen, SIGUSR2));
    EXPECT(!sigismember(&seen, SIGUSR1));
    run_with(NULL, tell_mask, &seen);
    EXPECT(!sigismember(&seen, SIGUSR2));
  }
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
}

CASE(a_signal_mask_of_the_default_attributes_holds_for_all_threads) {
  pthread_attr_t before, attr;
  sigset_t mask, seen;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  EXPECT_EQ(pthread_getattr_default_np(&before), 0);
  EXPECT_EQ(pthread_attr_init(&attr), 0);
  EXPECT_EQ(pthread_attr_setsigmask_np(&attr, &mask), 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(pthread_setattr_default_np(&attr), 0);
    for (int i = 0; i < 5; ++i) {
      run_with(NULL, tell_mask, &seen);
      EXPECT(sigismember(&seen, SIGUSR2));
    }
    EXPECT_EQ(pthread_setattr_default_np(&before), 0);
    for (int i = 0; i < 5; ++i) {
      run_with(NULL, tell_mask, &seen);
      EXPECT(!sigismember(&seen, SIGUSR2));
    }
  }
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  EXPECT_EQ(pthread_attr_destroy(&before), 0);
}
