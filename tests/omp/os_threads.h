// For tests of which OS threads a region's members run on.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// Looks at the clock some ten times: one that looks all the time is taken for a wait, and siblings
// go on in its place.
static inline void compute_for(double seconds) {
  double end = omp_get_wtime() + seconds;
  volatile double sum = 0;
  while (omp_get_wtime() < end)
    for (int i = 1; i < seconds * 2e7; ++i) sum += 1.0 / i;
}

// OS threads of this process, whatever they are for.
static inline int os_threads(void) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  int count = 0;
  if (!file) abort();
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "Threads: %d", &count) == 1) break;
  fclose(file);
  return count;
}

// How many OS threads a region has whose members, `size` of them, each call `part`.
static inline int os_threads_of(void (*part)(void), int size) {
  long tids[size];
#pragma omp parallel num_threads(size)
  {
    tids[omp_get_thread_num()] = syscall(SYS_gettid);
    part();
  }
  int count = 0;
  for (int i = 0; i < size; ++i) {
    int before = 0;
    for (int j = 0; j < i; ++j) before |= tids[j] == tids[i];
    count += !before;
  }
  return count;
}

// The least of so many regions: now and then one has a thread more for a moment.
static inline int fewest_os_threads_of(void (*part)(void), int size, int regions) {
  int fewest = size;
  for (int i = 0; i < regions; ++i) {
    int count = os_threads_of(part, size);
    if (count < fewest) fewest = count;
  }
  return fewest;
}
