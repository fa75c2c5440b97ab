// One thread forks again and again while another's regions, with locks and inner regions, are at
// work: each child uses OpenMP.
// reference: no
// reason: libgomp's children hang, libomp's take locks that others held
// sanitized: address
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int over;
static omp_lock_t lock;

static int work(int threads) {
  int count = 0;
  int outer = 0;
  int inner = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp atomic
    outer += 1;
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
#pragma omp atomic
      inner += 1;
#pragma omp critical(counting)
      count += 1;
    }
  }
  if (outer == threads && inner == threads * 3 && count == inner) return 1;
  printf("%d members, %d of inner regions, %d counted where there are %d, %d\n", outer, inner,
         count, threads, threads * 3);
  return 0;
}

static void* keep_busy(void* wrong) {
  omp_set_max_active_levels(4);  // each thread's own: inner regions without may have one member
  while (!over) {
#pragma omp parallel num_threads(6)
    {
      omp_set_lock(&lock);
      omp_unset_lock(&lock);
#pragma omp critical(other)
      for (volatile int i = 0; i < 100; ++i) {
      }
#pragma omp barrier
    }
    if (!work(4)) *(int*)wrong = 1;
  }
  return NULL;
}

int main(void) {
  omp_set_max_active_levels(4);
  omp_set_dynamic(0);
  omp_init_lock(&lock);
  int wrong = 0;
  pthread_t busy;
  if (pthread_create(&busy, NULL, keep_busy, &wrong) != 0) {
    puts("no thread");
    return 1;
  }
  for (int round = 0; round < 200; ++round) {
    pid_t child = fork();
    if (child == 0) {
      // What the other thread holds stays held for ever: locks of the program are the program's.
      alarm(30);
      int count = 0;
#pragma omp parallel num_threads(5)
      {
#pragma omp barrier
#pragma omp atomic
        count += 1;
      }
#pragma omp parallel num_threads(2)
      {
#pragma omp parallel num_threads(3)
        {
#pragma omp barrier
#pragma omp atomic
          count += 1;
        }
      }
      _exit(count != 11);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status) {
      printf("child %d ended with status %x\n", round, status);
      wrong = 1;
      break;
    }
    if (round % 10 == 0 && !work(2)) wrong = 1;
  }
  over = 1;
  pthread_join(busy, NULL);
  return wrong;
}
