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

static void nothing(void) {}

int main(void) {
  int cores = omp_get_num_procs(), size = 8 * cores;
  os_threads_of(nothing, size);
  int before = os_threads();
  os_threads_of(tasks, size);
  // Before, each of the cores' threads got another one for each 8 ms.
  EXPECT(os_threads() <= before + cores);
  return verdict();
}
