// fork between regions: parent and child both open regions afterwards; also from several threads at
// once, and children of children.
// reference: no
// reason: libgomp waits for ever for the threads that the child does not have; libomp forgets its
// sanitized: address
// settings there, and hangs when several threads fork
#include <pthread.h>
#include <sys/wait.h>

#include "expect.h"

enum { THREADS = 4 };

static void regions(int size) {
  int outer = 0, inner = 0;
#pragma omp parallel num_threads(size)
  {
    add(&outer, 1);
#pragma omp barrier
    EXPECT_EQ(look(&outer), size);
#pragma omp parallel num_threads(3)
    {
      // Not a critical section: another thread may hold its lock when this one forks.
      add(&inner, 1);
#pragma omp barrier
    }
  }
  EXPECT_EQ(inner, 3 * size);
}

static void in_child(int generations) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    for (int size = 1; size < 6; ++size) regions(size);
    if (generations > 1) in_child(generations - 1);
    regions(9);
    _exit(problems != 0);
  }
  regions(4);
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

static void* thread(void* unused) {
  allow_nesting();
  for (int round = 0; round < 5; ++round) {
    regions(round + 1);
    in_child(1);
  }
  return unused;
}

int main(void) {
  allow_nesting();
  in_child(1);  // the child is the first to use the runtime much
  for (int round = 0; round < 5; ++round) {
    regions(2 + round * 3);
    in_child(3);
  }
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, thread, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  regions(7);
  return verdict();
}
