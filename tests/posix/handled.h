// Counts how often SIGUSR1 has been handled.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "expect.h"

static int handled;

__attribute__((unused)) static int n_handled(void) {
  return __atomic_load_n(&handled, __ATOMIC_SEQ_CST);
}

__attribute__((unused)) static void count(int number) {
  (void)number;
  __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

__attribute__((unused)) static void handle(void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

// Returns once the thread, or another that was sent it before, has handled the signal.
__attribute__((unused)) static void interrupt(pthread_t thread) {
  int before = n_handled();
  EXPECT_EQ(pthread_kill(thread, SIGUSR1), 0);
  while (n_handled() == before) sched_yield();
}
