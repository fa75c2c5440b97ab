// sanitized: address
// reason: ThreadSanitizer passes over the atomics of siblings that go on in the midst of sem_wait
//
// Handlers that have interrupted the runtime leave their frames on the stack: members that wait for
// each other further down are not in a handler, though a signal that has one is blocked.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

#include "expect.h"

enum { kSize = 5, kRounds = 5, kIterations = 50000, kTokens = 40, kUnused = 6000 };

static volatile sig_atomic_t taken;
static void handler(int signal) {
  (void)signal;
  taken = taken + 1;
}

static sem_t turns[kSize];

// Below an array that nobody writes to: what was there before stays.
__attribute__((noinline)) static void hand_on(int own) {
  char unused[kUnused];
  __asm__ volatile("" : : "r"(unused) : "memory");
  for (int i = 0; i < kTokens; ++i) {
    while (sem_wait(&turns[own]) != 0) continue;
    sem_post(&turns[(own + 1) % kSize]);
  }
  __asm__ volatile("" : : "r"(unused) : "memory");
}

static void signal_each(int microseconds) {
  const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);  // never comes
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kSize; ++i) sem_init(&turns[i], 0, i == 0);
    signal_each(300);
#pragma omp parallel num_threads(kSize)
    {
#pragma omp for schedule(dynamic, 1)
      for (int i = 0; i < kIterations; ++i)
        for (volatile int k = 0; k < 5; k = k + 1) continue;
#pragma omp single
      signal_each(0);
      hand_on(omp_get_thread_num());
    }
  }
  EXPECT(taken > 0);
  return verdict();
}
