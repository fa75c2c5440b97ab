// A process with one thread works and waits in turn for `rounds` rounds, and looks each time
// whether it is the only thread that the kernel knows of this process. Then does a forked child.
// With a second argument a signal comes every millisecond.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long threads(void) {
  struct stat status;
  if (stat("/proc/self/task", &status) != 0) exit(2);
  return (long)status.st_nlink - 2;
}

static void work(long microseconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 <
           microseconds);
}

static long most_threads(long rounds) {
  long most = 0;
  for (long i = 0; i < rounds; ++i) {
    work(500);
    usleep(10);
    long n = threads();
    if (n > most) most = n;
  }
  return most;
}

static void ignore(int number) { (void)number; }

int main(int count, char** words) {
  long rounds = count > 1 ? atol(words[1]) : 100;
  if (count > 2) {
    struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &often, NULL) != 0)
      return 2;
  }
  long most = most_threads(rounds);
  pid_t child = fork();
  if (child == 0) _exit(most_threads(rounds / 10 + 1) > 1);
  int status;
  if (waitpid(child, &status, 0) != child) return 2;
  printf("%ld threads, its child %s\n", most, status == 0 ? "1" : "more");
  return 0;
}
