/* Reductions of one and many variables, of arrays and by the user's operation. */
#include "worksharing.h"

struct pair {
  long low, high;
};
#pragma omp declare reduction(                                                \
    spread                                                                    \
    : struct pair                                                             \
    : omp_out.low = omp_in.low < omp_out.low ? omp_in.low : omp_out.low,      \
      omp_out.high = omp_in.high > omp_out.high ? omp_in.high : omp_out.high) \
    initializer(omp_priv = {1000000, -1000000})

static void with(int threads) {
  long sum = 5;
  double real = 0.5;
  int any = 0, all = 1, bits = 0, most = -1, least = 1000000;
  long array[8] = {0};
  struct pair pair = {1000000, -1000000};
#pragma omp parallel num_threads(threads)
  {
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
#pragma omp for reduction(+ : sum, real) reduction(| : bits) reduction(|| : any) \
    reduction(&& : all) reduction(max : most) reduction(min : least) schedule(dynamic, 3)
    for (int i = 0; i < 1000; ++i) {
      sum += i;
      real += 1;
      bits |= 1 << i % 20;
      any = any || i == 500;
      all = all && i < 1000;
      if (i > most) most = i;
      if (i < least) least = i;
    }
#pragma omp for reduction(+ : array[:8]) nowait
    for (int i = 0; i < 800; ++i) array[i % 8] += i;
#pragma omp for reduction(spread : pair)
    for (long i = -300; i < 400; ++i) {
      if (i < pair.low) pair.low = i;
      if (i > pair.high) pair.high = i;
    }
#pragma omp sections reduction(+ : sum)
    {
#pragma omp section
      sum += 1;
#pragma omp section
      sum += 2;
    }
  }
  long total = 0;
  for (int i = 0; i < 8; ++i) total += array[i];
  if (sum != 5 + 2 * 499500 + 3) fail("sum", sum);
  if (real != 1000.5) fail("sum of doubles", (long)real);
  if (bits != (1 << 20) - 1 || !any || !all) fail("bits and logic", bits);
  if (most != 999 || least != 0) fail("extremes", most);
  if (total != 799 * 400) fail("an array", total);
  if (pair.low != -300 || pair.high != 399) fail("the user's own operation", pair.low);
  long inner = 0;
#pragma omp parallel reduction(+ : inner) num_threads(threads)
  inner += omp_get_num_threads();
  if (inner != (long)threads * threads) fail("of a parallel region", inner);
}

int main() {
  omp_set_dynamic(0);
  omp_set_max_active_levels(8);
  for (int r = 0; r < 10; ++r) {
    with(1);
    with(2);
    with(7);
    with(9);
    with(64);
    with(75);
  }
#pragma omp parallel num_threads(3)
  with(5);
  return failures != 0;
}
