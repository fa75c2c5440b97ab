// The queens problem with a task for each placement, counted with a taskgroup around all.
#include <stdio.h>
#include <string.h>

enum { kSize = 9 };
static long found;

static int fits(const char* rows, int n, int row) {
  for (int i = 0; i < n; ++i)
    if (rows[i] == row || rows[i] - row == n - i || row - rows[i] == n - i) return 0;
  return 1;
}

static void place(const char* rows, int n) {
  if (n == kSize) {
#pragma omp atomic
    ++found;
    return;
  }
  for (int row = 0; row < kSize; ++row) {
    if (!fits(rows, n, row)) continue;
    char next[kSize];
    memcpy(next, rows, sizeof next);
    next[n] = (char)row;
#pragma omp task firstprivate(next) untied
    place(next, n + 1);
  }
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i) {
    found = 0;
    long at_end = 0;
#pragma omp parallel num_threads(sizes[i])
#pragma omp single
    {
      char rows[kSize] = {0};
#pragma omp taskgroup
      place(rows, 0);
      at_end = found;
    }
    if (at_end != 352) {
      printf("%ld solutions instead of 352 with %d threads\n", at_end, sizes[i]);
      return 1;
    }
  }
  return 0;
}
