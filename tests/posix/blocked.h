// Tells when another thread has gone to sleep in the call under test.
//
// No test depends on it for its verdict: cancelling, say, a thread that is not asleep yet must work
// as well. It makes the case the test is named after the one that nearly always happens.
#pragma once

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The thread says that its next call blocks.
__attribute__((unused)) static void about_to_block(pid_t* tid) {
  __atomic_store_n(tid, gettid(), __ATOMIC_RELEASE);
}

__attribute__((unused)) static int is_asleep(pid_t tid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  FILE* file = fopen(path, "re");
  if (!file) return 1;
  const char* end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  fclose(file);
  return !end || end[2] == 'S';
}

// Waits until the thread sleeps, a tenth of a second at most.
__attribute__((unused)) static void wait_until_blocked(pid_t* tid) {
  const struct timespec pause = {0, 50000};
  while (!__atomic_load_n(tid, __ATOMIC_ACQUIRE)) sched_yield();
  for (int tries = 0; tries < 500 && !is_asleep(*tid); ++tries) nanosleep(&pause, NULL);
  __atomic_store_n(tid, 0, __ATOMIC_RELAXED);
}
