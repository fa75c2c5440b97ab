// The first task of a program is executed while its creator waits for it in a loop of its own:
// those who were done with the region before it was created are still there.
#include "expect.h"

static int begun, may_end;

static void wait_for(int* flag) {
  for (int tries = 0; !__atomic_load_n(flag, __ATOMIC_ACQUIRE); ++tries) {
    if (tries == 20000) {
      EXPECT(!"nobody executes the task");
      exit(verdict());
    }
    usleep(1000);
  }
}

int main(void) {
#pragma omp parallel
#pragma omp single nowait
  if (omp_get_num_threads() > 1) {
    usleep(100000);  // the others arrive at the region's end
#pragma omp task
    {
      __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
      wait_for(&may_end);
    }
    wait_for(&begun);
    __atomic_store_n(&may_end, 1, __ATOMIC_RELEASE);
  }
  return verdict();
}
