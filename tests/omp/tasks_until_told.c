// Tasks that follow each other without end, enough of them for all cores, until a member says so
// which begins late: at the end of the region, in a barrier, or while its siblings wait for a
// taskgroup. Each member begins in the end, though whoever could begin it has tasks to do.
#include "expect.h"
#include "os_threads.h"

enum { kSize = 5 };

static int told;

static void ask_again(void) {
#pragma omp task
  {
    compute_for(0.00005);
    if (!look(&told)) ask_again();
  }
}

static void ask(void) {
  for (int i = 0; i < 4 * omp_get_num_procs(); ++i) ask_again();
}

int main(void) {
  for (int round = 0; round < 3; ++round) {
    told = 0;
#pragma omp parallel num_threads(kSize)
    {
      int number = omp_get_thread_num();
      if (number == kSize - 1) {
        __atomic_store_n(&told, 1, __ATOMIC_RELAXED);
      } else if (number == 0 && round < 2) {
        ask();
      } else if (number == 0) {
#pragma omp taskgroup
        ask();
      }
      if (round == 1) {
#pragma omp barrier
        EXPECT(look(&told));
      }
    }
    EXPECT(look(&told));
  }
  return verdict();
}
