// A member of a region forks while the others are at work: its child opens regions of its own.
// reference: gcc
// reason: libomp's children get no nested regions
// sanitized: address
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int threads) {
  int count = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp atomic
      count += 1;
    }
  }
  return count == threads * 2;
}

int main(void) {
  omp_set_max_active_levels(8);
  omp_set_dynamic(0);
  int wrong = 0;
  for (int round = 0; round < 50; ++round) {
#pragma omp parallel num_threads(4)
    {
      int me = omp_get_thread_num();
      if (me == round % 4) {
        pid_t child = fork();
        if (child == 0) _exit(!(work(3) && work(5) && work(2)));
        int status = 0;
        if (child > 0) waitpid(child, &status, 0);
        if (status) {
#pragma omp atomic
          wrong += 1;
        }
      } else {
        for (int i = 0; i < 10; ++i)
          if (!work(2)) {
#pragma omp atomic
            wrong += 1;
          }
      }
    }
  }
  if (wrong) printf("%d regions or children were wrong\n", wrong);
  return wrong != 0;
}
