// threads: 2
// reference: no
// reason: those have an OS thread for each member
//
// Members that compute for long look like ones that wait for members that have not begun, which
// then get OS threads of their own. Once that was for nothing, regions of that function keep to a
// thread a core.
#include "expect.h"
#include "os_threads.h"

static volatile double result;

static void part(void) {
  double x = omp_get_thread_num();
  for (int i = 0; i < 8000000; ++i) x = x * 0.999999 + 1e-6;  // 20 to 40 ms
  if (x == 12345) result = x;
}

int main(void) {
  int cores = omp_get_num_procs(), size = 8 * cores;
  os_threads_of(part, size);
  EXPECT(fewest_os_threads_of(part, size, 4) <= cores);
  return verdict();
}
