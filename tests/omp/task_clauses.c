// if, final, mergeable, untied, priority, firstprivate of large data, tasks that outlive their
// parent, taskgroups that wait for descendants.
#include <omp.h>
#include <stdio.h>
#include <string.h>

struct Large {
  char bytes[20000];
};

static int outlive(void) {
  int count = 0;
#pragma omp taskgroup
  for (int i = 0; i < 50; ++i) {
#pragma omp task shared(count)
    {
      for (int j = 0; j < 5; ++j) {
#pragma omp task shared(count)
        {
#pragma omp task shared(count)
          {
#pragma omp atomic
            ++count;
          }
        }
      }
    }
  }
  return count != 250;
}

static int in_final(void) {
  int wrong = 0;
#pragma omp task final(1) shared(wrong)
  {
    int inner = 0;
#pragma omp task shared(inner, wrong)
    {
      if (!omp_in_final()) wrong = 1;
      inner = 1;
    }
    if (!inner || !omp_in_final()) wrong = 1;  // included tasks are executed at once
  }
#pragma omp taskwait
  if (omp_in_final()) wrong = 1;
  return wrong;
}

static int undeferred(void) {
  int x = 0, wrong = 0;
  for (int i = 0; i < 50; ++i) {
#pragma omp task if (0) shared(x)
    ++x;
    if (x != i + 1) wrong = 1;
  }
  return wrong;
}

static int copies(void) {
  struct Large large;
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    memset(&large, i, sizeof large);
#pragma omp task firstprivate(large, i) shared(wrong) priority(i) mergeable
    for (unsigned j = 0; j < sizeof large; ++j)
      if (large.bytes[j] != i) wrong = 1;
  }
#pragma omp taskwait
  return wrong;
}

static int untied(void) {
  int sum = 0;
#pragma omp task untied shared(sum)
  {
    for (int i = 0; i < 1000; ++i) {
#pragma omp task untied shared(sum)
      {
#pragma omp taskyield
#pragma omp atomic
        ++sum;
      }
    }
#pragma omp taskwait
#pragma omp atomic
    sum *= 2;
  }
#pragma omp taskwait
  return sum != 2000;
}

static void chain(int n, int* count) {
  if (n == 0) return;
#pragma omp atomic
  ++*count;
#pragma omp task
  chain(n - 1, count);
}

static int deep(int n) {
  if (n == 0) return 0;
  int below;
#pragma omp task shared(below)
  below = deep(n - 1);
#pragma omp taskwait
  return below + 1;
}

int main(void) {
  const int sizes[] = {1, 2, 7, 64};
  for (int i = 0; i < 4; ++i) {
    int wrong = 0, count = 0;
#pragma omp parallel num_threads(sizes[i])
    {
#pragma omp single
      {
        if (outlive()) wrong |= 1;
        if (in_final()) wrong |= 2;
        if (undeferred()) wrong |= 4;
        if (copies()) wrong |= 8;
        if (untied()) wrong |= 16;
        if (deep(500) != 500) wrong |= 32;
        chain(10000, &count);
      }
#pragma omp barrier
#pragma omp atomic
      wrong |= count != 10000 ? 64 : 0;
#pragma omp barrier
      for (int j = 0; j < 10; ++j) {
        int own = outlive();
#pragma omp atomic
        wrong |= own ? 128 : 0;
      }
    }
    if (wrong) {
      printf("clauses of tasks are wrong (%d) with %d threads\n", wrong, sizes[i]);
      return 1;
    }
  }
  if (outlive() || in_final() || undeferred() || copies() || untied()) {
    printf("clauses of tasks are wrong outside regions\n");
    return 1;
  }
  return 0;
}
