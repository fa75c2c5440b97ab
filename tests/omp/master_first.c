// threads: 3 4 7
// reference: no
// reason: the runtimes of gcc and LLVM leave the order to the kernel
// sanitized: no
// reason: what takes ten times as long sleeps more often, beside other load in most phases
//
// The master is the first to leave a barrier: what it does there, the others wait for, in a loop
// that spins for so long that nobody can prove that it waits, and then sleeps.
#include <omp.h>
#include <unistd.h>

#include "expect.h"

enum { kPhases = 500, kSpins = 1000000 };

static volatile int published;

// Whether it slept.
static int wait_for(int phase) {
  for (int i = 0; i < kSpins; ++i)
    if (published == phase) return 0;
  while (published != phase) usleep(10);
  return 1;
}

int main(void) {
  int sleeps = 0;
#pragma omp parallel reduction(+ : sleeps)
  for (int phase = 1; phase <= kPhases; ++phase) {
    if (omp_get_thread_num() == 0) {
      published = phase;
    } else {
      sleeps += wait_for(phase);
    }
#pragma omp barrier
    EXPECT_EQ(published, phase);
#pragma omp barrier
  }
  // At least one in each phase where the members of a carrier keep the order they happen to begin
  // in. A core that is somebody else's for a while accounts for a few.
  EXPECT(sleeps < kPhases / 2);
  return verdict();
}
