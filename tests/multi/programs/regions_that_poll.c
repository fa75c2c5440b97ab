// Regions whose first member waits for the others by looking again and again, in four of five by
// sched_yield() in between: the fifth is none that Roost could prove to wait, and nothing tells it
// from a computation. As MPI_Testany() does, which makes progress or not, in CP2K.
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int finished, with_yield;
static volatile unsigned long long looks;

__attribute__((noinline)) static void look(void) {
  ++looks;
  if (with_yield) sched_yield();
}

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void work(double ms) {
  double end = cpu_ms() + ms;
  while (cpu_ms() < end) {
  }
}

static void region(int threads) {
#pragma omp parallel num_threads(threads)
  {
    int n = omp_get_num_threads();
    if (omp_get_thread_num()) work(2);
#pragma omp atomic
    finished++;
    if (omp_get_thread_num() == 0)
      while (__atomic_load_n(&finished, __ATOMIC_SEQ_CST) != n) look();
#pragma omp barrier
  }
}

int main(int count, char** words) {
  int rounds = count > 1 ? atoi(words[1]) : 50, threads = count > 2 ? atoi(words[2]) : 2;
  for (int i = 0; i < rounds; i++) {
    with_yield = i % 5 != 4;
    finished = 0;
    region(threads);
  }
  printf("%d regions\n", rounds);
  return 0;
}
