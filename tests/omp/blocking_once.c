// threads: 2
//
// A region whose members once slept for long where nobody sees it has an OS thread a member from
// then on, but not for good.
#include <poll.h>
#include <stdatomic.h>

#include "expect.h"
#include "os_threads.h"

enum { kSize = 6 };

static atomic_int sleeps = 1;

static void part(void) {
  if (sleeps) poll(NULL, 0, 200);
}

int main(void) {
  int cores = omp_get_num_procs();
  if (cores >= kSize) return 0;  // each member has a core
  os_threads_of(part, kSize);
  sleeps = 0;
  if (!getenv("ROOST_INSTANCE")) EXPECT_EQ(fewest_os_threads_of(part, kSize, 5), kSize);
  fewest_os_threads_of(part, kSize, 1200);
  EXPECT(fewest_os_threads_of(part, kSize, 20) <= cores);
  return verdict();
}
