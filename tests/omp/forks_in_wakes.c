// A handler forks every 9 ms while members wake each other in turn: the fork waits for other
// threads' sections of the runtime, not for the one that it has interrupted itself.
// threads: 4
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { kSize = 4, kTurns = 10, kPeriodMicroseconds = 9000 };
static const double kSeconds = 1.0;

static pid_t parent;
static volatile sig_atomic_t forks, failed;

static void fork_once(int signal) {
  (void)signal;
  int saved = errno, status = 0;
  if (getpid() != parent) return;
  pid_t child = fork();
  if (child == 0) _exit(0);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0 || status != 0) failed = 1;
  ++forks;
  errno = saved;
}

static void set_timer(int microseconds) {
  struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static sem_t turns[kSize];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// The last member is the first to go on, and wakes the one before it.
static void take_turns(int member) {
  for (int i = 0; i < kTurns; ++i) {
    while (member < kSize - 1 && sem_wait(&turns[member]) != 0) EXPECT_EQ(errno, EINTR);
    if (member > 0) sem_post(&turns[member - 1]);
    pthread_mutex_lock(&mutex);
    if (i == kTurns / 2) usleep(20);
    pthread_mutex_unlock(&mutex);
  }
}

int main(void) {
  parent = getpid();
  for (int i = 0; i < kSize; ++i) EXPECT_EQ(sem_init(&turns[i], 0, 0), 0);
    // Threads that libc makes block nothing, so that a handler may come in each.
#pragma omp parallel num_threads(kSize)
  { EXPECT(omp_get_num_threads() == kSize); }
  struct sigaction action = {.sa_handler = fork_once, .sa_flags = SA_RESTART};
  EXPECT_EQ(sigaction(SIGALRM, &action, NULL), 0);
  set_timer(kPeriodMicroseconds);
  for (double begin = omp_get_wtime(); omp_get_wtime() - begin < kSeconds;) {
#pragma omp parallel num_threads(kSize)
    take_turns(omp_get_thread_num());
  }
  set_timer(0);
  EXPECT(forks > 0);
  EXPECT(!failed);
  return verdict();
}
