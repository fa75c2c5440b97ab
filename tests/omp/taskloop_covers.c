// Each iteration of a taskloop is executed once, whatever the bounds, steps and clauses;
// lastprivate is the last one's; strict grain sizes are exact.
#include <limits.h>
#include <stdio.h>

enum { kMost = 1000 };
static int seen[kMost];

static int check(long n, const char* what, int threads) {
  int wrong = 0;
  for (long i = 0; i < kMost; ++i) {
    if (seen[i] != (i < n)) wrong = 1;
    seen[i] = 0;
  }
  if (wrong) printf("%s does not cover its iterations with %d threads\n", what, threads);
  return wrong;
}

#define MARK(index) _Pragma("omp atomic")++ seen[index]

static int run(int threads) {
  int wrong = 0;
  long last = -1;
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
#pragma omp taskloop
    for (int i = 0; i < 777; ++i) {
      MARK(i);
    }
    wrong |= check(777, "a taskloop", threads);
#pragma omp taskloop grainsize(7)
    for (long i = 699; i >= 0; i -= 1) {
      MARK(i);
    }
    wrong |= check(700, "a taskloop downwards", threads);
#pragma omp taskloop num_tasks(13) lastprivate(last)
    for (long i = 0; i < 3 * 500; i += 3) {
      MARK(i / 3);
      last = i;
    }
    wrong |= check(500, "a taskloop with a step", threads);
    if (last != 1497) wrong = 1, printf("lastprivate is %ld with %d threads\n", last, threads);
#pragma omp taskloop num_tasks(5000)
    for (unsigned long long i = ULLONG_MAX - 100; i < ULLONG_MAX; ++i) {
      MARK(ULLONG_MAX - 1 - i);
    }
    wrong |= check(100, "a taskloop of large numbers", threads);
#pragma omp taskloop
    for (unsigned i = 10; i < 10; ++i) {
      MARK(i);
    }
    wrong |= check(0, "an empty taskloop", threads);
#pragma omp taskloop
    for (int i = 10; i < 3; ++i) {
      MARK(i);
    }
    wrong |= check(0, "a taskloop of less than nothing", threads);
#pragma omp taskloop nogroup
    for (int i = 0; i < 333; ++i) {
      MARK(i);
    }
#pragma omp taskwait
    wrong |= check(333, "a taskloop without a group", threads);
#pragma omp taskloop collapse(2) if (0)
    for (int i = 0; i < 10; ++i)
      for (int j = 0; j < 20; ++j) {
        MARK(i * 20 + j);
      }
    wrong |= check(200, "a collapsed undeferred taskloop", threads);
#pragma omp taskloop simd
    for (int i = 0; i < 640; ++i) {
      MARK(i);
    }
    wrong |= check(640, "a taskloop simd", threads);
  }
  return wrong;
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i)
    if (run(sizes[i])) return 1;
  int sum = 0;
#pragma omp taskloop shared(sum)
  for (int i = 0; i < 100; ++i) {
#pragma omp atomic
    sum += i;
  }
  if (sum != 4950) {
    printf("a taskloop outside regions gives %d\n", sum);
    return 1;
  }
  return 0;
}
