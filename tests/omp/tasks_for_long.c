// threads: 2
//
// A region's tasks take longer than anything does that nobody would take for a wait. While they are
// done, members that have not begun stay where they are: they get no OS threads of their own, which
// would take the cores from those that do the tasks.
#include "expect.h"
#include "os_threads.h"

enum { kTasks = 400 };

static void tasks(void) {
#pragma omp single nowait
  for (int i = 0; i < kTasks; ++i) {
#pragma omp task
    compute_for(0.001);
  }
}

// Threads of this process, whatever they are for.
static int threads(void) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  int count = 0;
  if (!file) abort();
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "Threads: %d", &count) == 1) break;
  fclose(file);
  return count;
}

static void nothing(void) {}

int main(void) {
  int cores = omp_get_num_procs(), size = 8 * cores;
  os_threads_of(nothing, size);
  int before = threads();
  os_threads_of(tasks, size);
  // Before, each of the cores' threads got another one for each 8 ms.
  EXPECT(threads() <= before + cores);
  return verdict();
}
