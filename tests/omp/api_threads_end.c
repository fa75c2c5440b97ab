// Threads of the program that use OpenMP and end leave nothing behind that grows.
// sanitized: no
// reason: a sanitizer keeps memory for each thread that has been
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int wrong;

static void* use(void* argument) {
  (void)argument;
  int count = 0;
  if (omp_get_max_threads() == 5 || omp_get_level() != 0) wrong = 1;
#pragma omp parallel num_threads(4)
  {
#pragma omp atomic
    count += 1;
  }
  if (count != 4) wrong = 1;
  omp_set_num_threads(5);
  return NULL;
}

static long resident_kib(void) {
  long size = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) exit(1);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(void) {
  omp_set_num_threads(2);
  omp_set_dynamic(0);
  long before = 0;
  for (int i = 0; i < 4000; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, use, NULL) != 0) return 1;
    pthread_join(thread, NULL);
    if (i == 300) before = resident_kib();
  }
  long after = resident_kib();
  // A second core's worker comes when it is first needed: once 3,600 KiB.
  if (after > before + 4500) wrong = printf("%ld KiB became %ld KiB\n", before, after);
  if (wrong == 1) printf("a thread found what another had set, or too few members\n");
  return wrong != 0;
}
