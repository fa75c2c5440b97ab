// A handler that has interrupted a call of its thread wakes hundreds of others, and waits until all
// have said so: none of the wake-ups may wait for the interrupted call to go on.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

#include "expect.h"

enum { WAITERS = 400, TIMES = 20 };

static sem_t wake_up[WAITERS], there, back;
static atomic_int answers, times, finish;

static void* answer(void* own) {
  for (;;) {
    while (sem_wait(own) != 0) {
    }
    if (atomic_load(&finish)) return NULL;
    atomic_fetch_add(&answers, 1);
  }
}

static void* send_back(void* nothing) {
  while (!atomic_load(&finish)) {
    while (sem_wait(&there) != 0) {
    }
    sem_post(&back);
  }
  return nothing;
}

static void wake_all_and_wait(int signal) {
  (void)signal;
  if (atomic_load(&times) == TIMES) return;
  int saved = errno, wanted = (atomic_load(&times) + 1) * WAITERS;
  for (int i = 0; i < WAITERS; ++i) sem_post(&wake_up[i]);
  const struct timespec moment = {0, 100000};
  while (atomic_load(&answers) < wanted) nanosleep(&moment, NULL);
  atomic_fetch_add(&times, 1);
  errno = saved;
}

CASE(all_are_woken_while_it_waits) {
  sigset_t alarm, before;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &alarm, &before), 0);
  static pthread_t waiters[WAITERS];
  for (int i = 0; i < WAITERS; ++i) {
    EXPECT_EQ(sem_init(&wake_up[i], 0, 0), 0);
    EXPECT_EQ(pthread_create(&waiters[i], NULL, answer, &wake_up[i]), 0);
  }
  pthread_t partner;
  EXPECT_EQ(sem_init(&there, 0, 0), 0);
  EXPECT_EQ(sem_init(&back, 0, 0), 0);
  EXPECT_EQ(pthread_create(&partner, NULL, send_back, NULL), 0);
  struct sigaction action = {.sa_handler = wake_all_and_wait, .sa_flags = SA_RESTART};
  EXPECT_EQ(sigaction(SIGALRM, &action, NULL), 0);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
  const struct itimerval each = {{0, 700}, {0, 700}}, off = {{0, 0}, {0, 0}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &each, NULL), 0);
  // Its thread is inside such a call most of the time.
  while (atomic_load(&times) < TIMES) {
    sem_post(&there);
    while (sem_wait(&back) != 0) {
    }
  }
  EXPECT_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
  atomic_store(&finish, 1);
  sem_post(&there);
  EXPECT_EQ(pthread_join(partner, NULL), 0);
  for (int i = 0; i < WAITERS; ++i) {
    EXPECT_EQ(sem_post(&wake_up[i]), 0);
    EXPECT_EQ(pthread_join(waiters[i], NULL), 0);
  }
}
