// threads: 2
// ours: named
// reason: under Roost, members have threads only where nobody else waits for the cores
//
// In the first regions of a process each member has a thread of its own where there are cores,
// though threads have just been created, or have fallen asleep in case the region has tasks. (No
// expect.h: with its thread-local counter members have threads of their own in all regions.)
#include <omp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kLongEnoughToFallAsleep = 50000 };  // microseconds

// The region that had both its members on one thread, counted from 1; 0: none.
static int first_on_one_thread(void) {
  for (int region = 0; region < 2; ++region) {
    long threads[2] = {0, 0};
#pragma omp parallel num_threads(2)
    {
      threads[omp_get_thread_num()] = syscall(SYS_gettid);
#pragma omp barrier
      if (omp_get_thread_num() == 0) usleep(kLongEnoughToFallAsleep);
    }
    if (threads[0] == threads[1]) return region + 1;
  }
  return 0;
}

// Other programs may have the cores when the thread is created: that is so in one of many
// processes, not in several in a row.
int main(void) {
  enum { kProcesses = 5 };
  if (omp_get_num_procs() < 2) return 0;  // nothing is promised on one core
  int status = 0;
  for (int i = 0; i < kProcesses; ++i) {
    pid_t child = fork();
    if (child == 0) _exit(first_on_one_thread());
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    if (status == 0) return 0;
  }
  printf("region %d: both members on one thread\n", WEXITSTATUS(status) - 1);
  return 1;
}
