// Threads that exchange the action of one signal: each action is returned as the old one once, by
// whoever has replaced it, and is whole.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "expect.h"

enum { kThreads = 3, kRounds = 20000, kActions = kThreads * kRounds };

static unsigned char returned[kActions];
static int exchanged;  // the signal

// Addresses at which nothing is: the signal is never sent.
static sighandler_t handler_of(int action) {
  return (sighandler_t)(uintptr_t)(0x10000 + 16 * action);
}
static int action_with(sighandler_t handler) { return ((int)(uintptr_t)handler - 0x10000) / 16; }
static int flags_of(int action) { return action % 3 ? SA_RESTART : SA_RESETHAND; }

static void note_returned(const struct sigaction* action) {
  if (action->sa_handler == SIG_DFL) return;
  int number = action_with(action->sa_handler);
  EXPECT(number >= 0 && number < kActions);
  EXPECT_EQ(action->sa_flags & (SA_RESTART | (int)SA_RESETHAND), flags_of(number));
  EXPECT_EQ(sigismember(&action->sa_mask, 1 + number % 7), 1);
  __atomic_add_fetch(&returned[number], 1, __ATOMIC_SEQ_CST);
}

static void* exchange(void* first) {
  for (int i = 0; i < kRounds; ++i) {
    int number = (int)(intptr_t)first + i;
    struct sigaction action = {.sa_handler = handler_of(number), .sa_flags = flags_of(number)};
    struct sigaction before;
    sigaddset(&action.sa_mask, 1 + number % 7);
    EXPECT_EQ(sigaction(exchanged, &action, &before), 0);
    note_returned(&before);
  }
  return NULL;
}

static void exchange_actions_of(int number) {
  pthread_t threads[kThreads];
  exchanged = number;
  EXPECT(signal(number, SIG_DFL) != SIG_ERR);
  for (int i = 0; i < kActions; ++i) returned[i] = 0;
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(pthread_create(&threads[i], NULL, exchange, (void*)(intptr_t)(i * kRounds)), 0);
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(pthread_join(threads[i], NULL), 0);
  struct sigaction last, standard = {.sa_handler = SIG_DFL};
  EXPECT_EQ(sigaction(exchanged, &standard, &last), 0);
  note_returned(&last);
  for (int i = 0; i < kActions; ++i) EXPECT_EQ(returned[i], 1);
}
