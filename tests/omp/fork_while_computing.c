// A process that forks while another thread is in a long region whose calls have not all begun: the
// child's regions begin none of them.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { MEMBERS = 64 };
static volatile int parent;
static int begun_in_child;

static void* compute(void* unused) {
#pragma omp parallel num_threads(MEMBERS)
  {
    if (getpid() != parent) add(&begun_in_child, 1);
    for (volatile long i = 0; i < 10000000; ++i) {
    }
  }
  return unused;
}

int main(void) {
  parent = getpid();
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, compute, NULL), 0);
  usleep(60000);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 20; ++i) {
      int n = 0;
#pragma omp parallel num_threads(4)
      {
        for (volatile int k = 0; k < 300000; ++k) {
        }
        add(&n, 1);
      }
      if (n != 4) _exit(2);
    }
    _exit(begun_in_child != 0);
  }
  int status;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  return 0;
}
