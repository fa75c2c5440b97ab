// Children of fork use OpenMP at once, though the parent's threads were at work a moment ago.
// reference: no
// reason: libgomp's children wait for threads they do not have, regions in libomp's are serial
// sanitized: address
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int threads) {
  int count = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
#pragma omp atomic
      count += 1;
    }
#pragma omp critical
    {
#pragma omp atomic
      count += 10;
    }
  }
  return count == threads * 13;
}

int main(void) {
  omp_set_max_active_levels(4);
  omp_set_dynamic(0);
  for (int round = 0; round < 100; ++round) {
    if (!work(2 + round % 5)) return printf("the parent's region %d was wrong\n", round), 1;
    pid_t child = fork();
    if (child < 0) return 0;
    if (child == 0) {
      int good = work(4) && work(2) && work(8);
      if (round % 10 == 0) {  // grandchildren
        pid_t grandchild = fork();
        if (grandchild == 0) _exit(!work(3));
        int status;
        waitpid(grandchild, &status, 0);
        good = good && status == 0;
      }
      _exit(!good);
    }
    int status;
    if (round % 2) work(3);
    waitpid(child, &status, 0);
    if (status) return printf("child %d ended with status %x\n", round, status), 1;
  }
  return 0;
}
