// sanitized: no
// reason: a fork in a handler that has interrupted the sanitizers' own locks does not return
//
// Handlers that fork: while the runtime begins to be used, whose locks their thread may have; and
// in a member's wait, with which the child goes on.
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

enum { kSize = 4, kFirst = 60, kApart = 30, kTries = 20 };

static void handle_alarm(void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  EXPECT_EQ(sigaction(SIGALRM, &action, NULL), 0);
}
static void alarm_after(int microseconds) {
  const struct itimerval timer = {{0, 0}, {0, microseconds}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
}
static int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

static volatile pid_t forked;
static void fork_alone(int signal) {
  (void)signal;
  int saved = errno;
  pid_t child = fork();
  if (child == 0) _exit(0);
  forked = child;
  errno = saved;
}

// In a process that has not used the runtime yet.
static void fork_in_first_region(int microseconds) {
  pid_t fresh = fork();
  if (fresh == 0) {
    forked = 0;
    handle_alarm(fork_alone);
    alarm_after(microseconds);
    volatile int members = 0;
#pragma omp parallel num_threads(kSize)
    {
#pragma omp atomic
      ++members;
    }
    const struct timespec moment = {0, 100000};
    while (forked == 0) nanosleep(&moment, NULL);
    _exit(status_of(forked) == 0 && members == kSize ? 0 : 1);
  }
  EXPECT_EQ(status_of(fresh), 0);
}

static sem_t posted;
static volatile sig_atomic_t in_child;
static void fork_and_post(int signal) {
  (void)signal;
  int saved = errno;
  pid_t child = fork();
  if (child == 0) in_child = 1;
  forked = child;
  sem_post(&posted);
  errno = saved;
}

static void wait_until_posted(int timed) {
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 30;
  while ((timed ? sem_timedwait(&posted, &deadline) : sem_wait(&posted)) != 0)
    EXPECT_EQ(errno, EINTR);
}

static void fork_in_wait(int timed) {
  forked = 0;
  alarm_after(2000);
#pragma omp parallel num_threads(kSize)
  {
    if (omp_get_thread_num() == 0) {
      wait_until_posted(timed);
      if (in_child) _exit(0);
    }
  }
  EXPECT_EQ(status_of(forked), 0);
}

int main(void) {
  for (int i = 0; i < kFirst; ++i) fork_in_first_region(50 + i * kApart);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarms, NULL);
  // The others have it blocked.
#pragma omp parallel num_threads(kSize)
  { EXPECT(omp_get_num_threads() == kSize); }
  sigprocmask(SIG_UNBLOCK, &alarms, NULL);
  handle_alarm(fork_and_post);
  EXPECT_EQ(sem_init(&posted, 0, 0), 0);
  for (int i = 0; i < 2 * kTries; ++i) fork_in_wait(i % 2);
  return verdict();
}
