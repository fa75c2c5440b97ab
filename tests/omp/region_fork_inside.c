// fork inside a region: the child, which is that member alone, may do what needs no other thread
// and leave by _exit or exec; the parent's region goes on.
// sanitized: address
// reason: ThreadSanitizer knows no threads after a fork
#include <sys/wait.h>

#include "expect.h"

static void by_everyone(int size) {
  int good = 0;
#pragma omp parallel num_threads(size)
  {
    int me = omp_get_thread_num();
    pid_t child = fork();
    if (child == 0) {
      if (me % 2) execl("/bin/true", "true", (char*)NULL);
      _exit(0);
    }
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    add(&good, status == 0);
#pragma omp barrier
    EXPECT_EQ(look(&good), size);
  }
}

int main(void) {
  allow_nesting();
  by_everyone(1);
  by_everyone(2);
  by_everyone(5);
  int members = 0;
#pragma omp parallel num_threads(9)
  add(&members, 1);
  EXPECT_EQ(members, 9);
  return verdict();
}
