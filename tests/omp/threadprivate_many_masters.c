// Each thread that opens regions has members of its own: what they keep is not another thread's.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

static int kept;
#pragma omp threadprivate(kept)
static int wrong;

static void* master(void* argument) {
  int base = (int)(long)argument * 100;
#pragma omp parallel num_threads(3)
  kept = base + omp_get_thread_num();
  for (int round = 0; round < 100; ++round) {
#pragma omp parallel num_threads(3)
    {
      if (kept != base + omp_get_thread_num()) {
#pragma omp atomic
        wrong += 1;
      }
    }
  }
  return NULL;
}

int main(void) {
  omp_set_dynamic(0);
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, master, (void*)(i + 1));
  master(NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  if (wrong) printf("%d times a member found another's variable\n", wrong);
  return wrong != 0;
}
