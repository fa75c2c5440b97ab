/* lastprivate gets the value of the last iteration, under every schedule. */
#include "worksharing.h"

/* LLVM's own runtime (14) loses the last chunk of a nonmonotonic loop, which dynamic ones are. */
#ifdef __clang__
#define DYNAMIC \
  monotonic:    \
  dynamic
#else
#define DYNAMIC dynamic
#endif

#define LAST(...)                                                                                \
  {                                                                                              \
    long last = -1, index = -1;                                                                  \
    PRAGMA(omp parallel for lastprivate(last, index) schedule(__VA_ARGS__) num_threads(threads)) \
    for (index = 3; index < 200; index += 4) last = index * 2;                                   \
    if (last != 398 || index != 203) fail("lastprivate: " #__VA_ARGS__, last);                   \
  }

static void with(int threads) {
  int chunk = 5;
  LAST(static)
  LAST(static, chunk)
  LAST(static, 1000)
  LAST(DYNAMIC)
  LAST(DYNAMIC, chunk)
  LAST(DYNAMIC, 1000)
  LAST(guided)
  LAST(guided, chunk)
  LAST(runtime)
  LAST(auto)
}

int main() {
  omp_set_max_active_levels(8);
  with(1);
  with(2);
  with(7);
  with(64);
#pragma omp parallel num_threads(3)
  with(4);
  return failures != 0;
}
