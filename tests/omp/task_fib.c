// Recursive tasks and taskwait give what serial code gives, at several sizes and nested.
#include <omp.h>
#include <stdio.h>

static long serial(int n) { return n < 2 ? n : serial(n - 1) + serial(n - 2); }

static long fib(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b) if (n > 4)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static long run(int n, int threads) {
  long result = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single nowait
  result = fib(n);
  return result;
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i) {
    if (run(18, sizes[i]) != serial(18)) {
      printf("fib(18) is wrong with %d threads\n", sizes[i]);
      return 1;
    }
  }
  if (run(18, 0 + omp_get_max_threads()) != serial(18)) {
    printf("fib(18) is wrong with the default number of threads\n");
    return 1;
  }
  omp_set_max_active_levels(3);
  int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
  wrong += run(13, 3) != serial(13);
  if (wrong) {
    printf("fib(13) is wrong in nested regions\n");
    return 1;
  }
  if (fib(12) != serial(12)) {
    printf("fib(12) is wrong outside regions\n");
    return 1;
  }
  return 0;
}
