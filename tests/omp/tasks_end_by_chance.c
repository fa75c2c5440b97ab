// A region that ends by chance soon after its last member was begun, which had been left for tasks:
// members of the function's next regions get no OS threads for that.
// threads: 4
// sanitized: address
#include <time.h>

#include "expect.h"
#include "os_threads.h"

enum { kTasksAfter = 15, kRegions = 8 };

// CPU time: by that the runtime sees that members are left for long.
static void compute_one_millisecond(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  long end = used.tv_sec * 1000000000 + used.tv_nsec + 1000000;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  while (used.tv_sec * 1000000000 + used.tv_nsec < end);
}

static int begun;

// Tasks for as long as members have not begun, and a while longer.
static void one_region(void) {
  begun = 0;
#pragma omp parallel
  {
#pragma omp atomic
    begun += 1;
#pragma omp single
    for (int after = 0; after < kTasksAfter;) {
#pragma omp task
      compute_one_millisecond();
#pragma omp taskwait
      after += look(&begun) == omp_get_num_threads();
    }
  }
}

int main(void) {
  one_region();
  int before = os_threads();
  for (int i = 0; i < kRegions; ++i) one_region();
  EXPECT(os_threads() <= before + 1);  // the runtime's own, and workers for cores
  return verdict();
}
