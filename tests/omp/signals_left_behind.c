// sanitized: address
// reason: ThreadSanitizer passes over the atomics of siblings that go on in the midst of a barrier
//
// Members that wait for each other are in no handler where only the frame of one that is over lies
// on the stack, though its signal is blocked now, or may come within its handler.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "expect.h"

enum { kSize = 8, kRounds = 60, kWork = 20000, kUnused = 20000 };

static volatile sig_atomic_t taken;
static void handler(int signal) {
  (void)signal;
  taken = taken + 1;
}
static void told_handler(int signal, siginfo_t* info, void* context) {
  (void)info;
  (void)context;
  handler(signal);
}

static pthread_barrier_t barrier;

// Below an array that nobody writes to: what was there before stays.
__attribute__((noinline)) static void meet_further_down(void) {
  char unused[kUnused];
  __asm__ volatile("" : : "r"(unused) : "memory");
  pthread_barrier_wait(&barrier);
  __asm__ volatile("" : : "r"(unused) : "memory");
}

static void meet_in_rounds(int blocks) {
  sigset_t timers;
  sigemptyset(&timers);
  sigaddset(&timers, SIGALRM);
  for (int round = 0; round < kRounds; ++round) {
#pragma omp parallel num_threads(kSize)
    {
      for (volatile int i = 0; i < kWork; i = i + 1) continue;
      pthread_barrier_wait(&barrier);
      if (blocks) pthread_sigmask(SIG_BLOCK, &timers, NULL);
      meet_further_down();
      if (blocks) pthread_sigmask(SIG_UNBLOCK, &timers, NULL);
    }
  }
}

int main(void) {
  const struct itimerval each_millisecond = {{0, 1000}, {0, 1000}};
  EXPECT_EQ(pthread_barrier_init(&barrier, NULL, kSize), 0);
  for (int told = 0; told < 2; ++told) {
    for (int blocks = 0; blocks < 2; ++blocks) {
      struct sigaction action;
      memset(&action, 0, sizeof action);
      action.sa_flags = SA_RESTART | (blocks ? 0 : SA_NODEFER) | (told ? SA_SIGINFO : 0);
      if (told) {
        action.sa_sigaction = told_handler;
      } else {
        action.sa_handler = handler;
      }
      EXPECT_EQ(sigaction(SIGALRM, &action, NULL), 0);
      EXPECT_EQ(setitimer(ITIMER_REAL, &each_millisecond, NULL), 0);
      meet_in_rounds(blocks);
    }
  }
  EXPECT(taken > 0);
  return verdict();
}
