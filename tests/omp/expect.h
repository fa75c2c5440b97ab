// What tests of the OpenMP runtime use: a program exits with 0 and says nothing when all is right.
#pragma once

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
#include <atomic>
typedef std::atomic<int> problem_count;
#else
#include <stdatomic.h>
typedef atomic_int problem_count;
#endif

static problem_count problems;

// From any thread; a few are shown.
static inline void expect_failed(const char* file, int line, const char* what, long seen,
                                 long wanted) {
  if (problems++ >= 8) return;
  fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", file, line, what, seen, wanted);
}
#define EXPECT_EQ(seen, wanted)                                                     \
  do {                                                                              \
    long seen_ = (long)(seen), wanted_ = (long)(wanted);                            \
    if (seen_ != wanted_) expect_failed(__FILE__, __LINE__, #seen, seen_, wanted_); \
  } while (0)
#define EXPECT(condition) EXPECT_EQ(!!(condition), 1)

// The last statement of main.
static inline int verdict(void) { return problems != 0; }

// Counters that members share.
static inline int add(int* counter, int value) {
  return __atomic_add_fetch(counter, value, __ATOMIC_RELAXED);
}
static inline int look(int* counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

// How many members a region that asks for `size` has; they meet.
static inline int members_at(int size) {
  int members = 0;
#pragma omp parallel num_threads(size)
  {
    add(&members, 1);
#pragma omp barrier
  }
  return members;
}

// Resident memory of the process in KiB.
static inline long resident_kib(void) {
  FILE* file = fopen("/proc/self/statm", "r");
  long size = 0, resident = 0;
  if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) abort();
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Regions get the members they ask for, three levels deep.
static inline void allow_nesting(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(8);
}
