// A member that recurses without end runs into a guard page and the process dies of SIGSEGV,
// whatever kind of thread it is on; it does not write over its neighbours.
#include <sys/resource.h>
#include <sys/wait.h>

#include "expect.h"

static int depth;
static int recurse(volatile char* above);
static int (*volatile deeper)(volatile char*) = recurse;
static int recurse(volatile char* above) {
  volatile char bytes[512];
  bytes[0] = above[0];
  __atomic_add_fetch(&depth, 1, __ATOMIC_RELAXED);
  return deeper(bytes) + bytes[0];
}

static void overflow_in(int size, int member, int nested) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    volatile char start[1] = {0};
#pragma omp parallel num_threads(size)
    {
      if (nested) {
#pragma omp parallel num_threads(size)
        {
#pragma omp barrier
          if (omp_get_thread_num() == member) recurse(start);
#pragma omp barrier
        }
      } else {
#pragma omp barrier
        if (omp_get_thread_num() == member) recurse(start);
#pragma omp barrier
      }
    }
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), 11);
}

int main(void) {
  allow_nesting();
  overflow_in(2, 0, 0);
  overflow_in(2, 1, 0);
  overflow_in(9, 5, 0);
  overflow_in(9, 8, 0);
  overflow_in(3, 2, 1);
  return verdict();
}
